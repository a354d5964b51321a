// `muster describe`: one thing in full.
#include "report/describe.h"

#include <fmt/format.h>

#include "base/json_writer.h"
#include "client.h"
#include "commands.h"
#include "report/document.h"
#include "report/job_environment.h"
#include "report/lists.h"
#include "report/units.h"
#include "say.h"

namespace muster::cmd {
namespace {

using report::Format;

Result<Value> fetch(const Client& client, const DescribeOptions& o) {
  const std::string path = "/api/v1/" + std::string(report::kNounNames[static_cast<std::size_t>(o.kind)]);
  if (o.kind == Kind::nodes || o.kind == Kind::jobs || o.kind == Kind::incidents || o.kind == Kind::queues)
    return client.get(path + piece(o.name));
  const auto list = client.get(path);
  if (!list) return list;
  for (const auto& item : report::list_of(*list, "items")) {
    if (report::name_of(o.kind, item) == o.name) return item;
  }
  return fail(Code::not_found,
              fmt::format("there is no {} '{}'", report::kNounSingular[static_cast<std::size_t>(o.kind)], o.name),
              fmt::format("`muster get {} -o name` lists them", report::kNounNames[static_cast<std::size_t>(o.kind)]));
}

// What a job runs in, as its nodes told; nothing where they did not, or where the server knows of no such thing.
std::string environment_of(const Client& client, const DescribeOptions& o) {
  JsonWriter w;
  w.object().field("job", o.name).end_object();
  const auto answer = client.post("/api/v1/tools/job_environment", w.take());
  return answer ? report::render_job_environment(*answer) : std::string();
}

}  // namespace

int run_describe(const DescribeOptions& options) {
  const auto client = Client::open(options.connection);
  if (!client) return say_error(client.error());
  const auto item = fetch(*client, options);
  if (!item) return say_error(item.error());
  switch (options.output.format) {
    case Format::json: put(report::render_json(*item)); break;
    case Format::yaml: put(report::render_yaml(*item)); break;
    default:
      put(report::describe(options.kind, *item, {.colour = colour_wanted(), .now = client->cluster_now()}));
      if (options.kind == Kind::jobs && options.connection.at.empty()) put(environment_of(*client, options));
  }
  return 0;
}

}  // namespace muster::cmd
