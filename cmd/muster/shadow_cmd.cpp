// `muster shadow report`: what Muster would have done in shadow mode, from a running Muster's journal or from a file.
#include "client.h"
#include "commands.h"
#include "ingest/json.h"
#include "progress.h"
#include "record_reading.h"
#include "report/document.h"
#include "report/shadow_report.h"
#include "say.h"

namespace muster::cmd {
namespace {

Result<Value> from_file(const ShadowOptions& o) {
  Result<std::string> text;
  {
    Progress progress("read", stderr_is_terminal() ? ProgressMode::automatic : ProgressMode::never);
    text = shadow_from_journal(o.journal, [&](double done) { progress.update(done); });
  }
  if (!text) return tl::unexpected(text.error());
  return parse_json(*text);
}

Result<Value> from_server(const ShadowOptions& o) {
  const auto client = Client::open(o.connection);
  if (!client) return tl::unexpected(client.error());
  return client->post("/api/v1/tools/shadow_report", "{}");
}

}  // namespace

int run_shadow_report(const ShadowOptions& o) {
  const auto report = o.journal.empty() ? from_server(o) : from_file(o);
  if (!report) return say_error(report.error());
  put(o.format == report::Format::json ? report::render_json(*report)
                                       : report::render_shadow_text(*report, {.colour = colour_wanted(), .now = {}}));
  return 0;
}

}  // namespace muster::cmd
