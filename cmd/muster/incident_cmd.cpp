// `muster incident`: the report of one incident, from a running Muster's journal or from a file.
#include <fmt/core.h>

#include "client.h"
#include "commands.h"
#include "ingest/json.h"
#include "progress.h"
#include "record_reading.h"
#include "report/document.h"
#include "report/incident_report.h"
#include "say.h"

namespace muster::cmd {
namespace {

Result<Value> from_file(const IncidentOptions& o) {
  Result<std::string> text;
  {
    Progress progress("read", stderr_is_terminal() ? ProgressMode::automatic : ProgressMode::never);
    text = incident_from_journal(o.journal, std::to_string(o.id), [&](double done) { progress.update(done); });
  }
  if (!text) return tl::unexpected(text.error());
  return parse_json(*text);
}

Result<Value> from_server(const IncidentOptions& o) {
  const auto client = Client::open(o.connection);
  if (!client) return tl::unexpected(client.error());
  return client->get("/api/v1/incidents" + piece(std::to_string(o.id)) + "/report");
}

}  // namespace

int run_incident(const IncidentOptions& o) {
  const auto report = o.journal.empty() ? from_server(o) : from_file(o);
  if (!report) return say_error(report.error());
  switch (o.format) {
    case PageFormat::json: put(report::render_json(*report)); break;
    case PageFormat::markdown: put(report::render_incident_markdown(*report)); break;
    case PageFormat::text: put(report::render_incident_text(*report, {.colour = colour_wanted(), .now = {}})); break;
  }
  return 0;
}

}  // namespace muster::cmd
