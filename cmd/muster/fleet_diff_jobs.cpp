// `muster fleet diff job`: what changed between two runs of jobs, by the record of a running Muster or a file.
#include "base/json_writer.h"
#include "client.h"
#include "fleet_options.h"
#include "ingest/json.h"
#include "job_environment_tool.h"
#include "report/document.h"
#include "report/job_environment.h"
#include "say.h"

namespace muster::cmd {
namespace {

Result<Value> ask(const FleetDiffOptions& o) {
  JsonWriter w;
  w.object().field("job", o.a).field("against", o.b);
  if (o.all) w.field("all", true);
  w.end_object();
  const std::string question = w.take();
  if (o.journal.empty()) {
    const auto client = Client::open(o.connection);
    if (!client) return tl::unexpected(client.error());
    return client->post("/api/v1/tools/job_environment", question);
  }
  const auto text = JobEnvironmentTool(o.journal).call(parse_json(question).value());
  if (!text) return tl::unexpected(text.error());
  return parse_json(*text);
}

}  // namespace

int run_fleet_diff_jobs(const FleetDiffOptions& o) {
  for (const std::string* name : {&o.a, &o.b}) {
    if (const auto run = report::parse_run_name(*name); !run) return say_error(run.error());
  }
  const auto answer = ask(o);
  if (!answer) return say_error(answer.error());
  put(o.format == report::Format::json ? report::render_json(*answer) : report::render_job_difference(*answer, colour_wanted()));
  return finish_output();
}

}  // namespace muster::cmd
