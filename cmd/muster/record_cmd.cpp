// `muster timeline` and `muster audit`: what happened on the nodes, and who did what, from a running Muster's journal or from a
// file. The same tools as the page asks.
#include "audit_tool.h"
#include "base/json_writer.h"
#include "client.h"
#include "commands.h"
#include "ingest/json.h"
#include "report/document.h"
#include "report/record_text.h"
#include "report/units.h"
#include "say.h"
#include "timeline_tool.h"

namespace muster::cmd {
namespace {

template <class OfFile>
Result<Value> ask(Connection connection, const std::string& journal, const std::string& tool, const std::string& input) {
  if (journal.empty()) {
    connection.at.clear();  // a tool is told the moment in its question
    const auto client = Client::open(connection);
    if (!client) return tl::unexpected(client.error());
    return client->post("/api/v1/tools/" + tool, input);
  }
  OfFile of_file(journal);
  const auto text = of_file.call(parse_json(input).value());
  if (!text) return tl::unexpected(text.error());
  return parse_json(*text);
}

}  // namespace

int run_timeline(const TimelineOptions& o) {
  JsonWriter w;
  w.object();
  if (!o.from.empty()) w.field("from", o.from);
  if (!o.to.empty()) w.field("to", o.to);
  w.end_object();
  const auto answer = ask<TimelineTool>(o.connection, o.journal, "timeline", w.take());
  if (!answer) return say_error(answer.error());
  put(o.format == report::Format::json ? report::render_json(*answer)
                                       : report::render_timeline_text(*answer, {.colour = colour_wanted(), .now = {}}));
  return finish_output();
}

int run_audit(const AuditOptions& o) {
  JsonWriter w;
  w.object();
  if (!o.connection.at.empty()) w.field("at", o.connection.at);
  w.end_object();
  const auto answer = ask<AuditTool>(o.connection, o.journal, "audit", w.take());
  if (!answer) return say_error(answer.error());
  if (o.format == report::Format::json) {
    put(report::render_json(report::filter_audit(*answer, o.filter)));
    return finish_output();
  }
  const Value* chain = answer->find("chain");
  const Value* ok = chain == nullptr ? nullptr : chain->find("ok");
  if (ok != nullptr && ok->boolean() != nullptr && !*ok->boolean())
    return say_error({Code::corrupt, report::text_of(*chain, "what"), report::text_of(*chain, "next")});
  put(report::render_audit_text(*answer, o.filter, {.colour = colour_wanted(), .now = {}}));
  return finish_output();
}

}  // namespace muster::cmd
