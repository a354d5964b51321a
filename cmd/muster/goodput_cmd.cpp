// `muster goodput`: where GPU-hours went, from a running Muster's journal or from a file.
#include "base/json_writer.h"
#include "client.h"
#include "commands.h"
#include "goodput_tool.h"
#include "ingest/json.h"
#include "report/document.h"
#include "report/goodput.h"
#include "report/units.h"
#include "say.h"

namespace muster::cmd {
namespace {

std::string question(const GoodputOptions& o, const std::string& from) {
  JsonWriter w;
  w.object().field("by", o.by);
  if (!from.empty()) w.field("from", from);
  if (!o.to.empty()) w.field("to", o.to);
  if (!o.most.empty()) w.field("most", o.most);
  if (!o.job.empty()) w.field("job", o.job);
  w.end_object();
  return w.take();
}

using Ask = std::function<Result<Value>(const std::string& input)>;

// "--since 6h" counts from the end of what is known, which only the answer tells.
Result<Value> ask(const GoodputOptions& o, const Ask& put_to) {
  if (o.since_s <= 0) return put_to(question(o, o.from));
  const auto whole = put_to(question(o, ""));
  if (!whole) return whole;
  const auto first = report::time_of(*whole, "from_utc"), last = report::time_of(*whole, "to_utc");
  if (!first || !last) return fail(Code::internal, "the answer has no times");
  return put_to(question(o, render_utc(std::max(*first, *last - from_seconds(o.since_s)))));
}

}  // namespace

int run_goodput(const GoodputOptions& o) {
  Result<Value> report;
  if (o.journal.empty()) {
    const auto client = Client::open(o.connection);
    if (!client) return say_error(client.error());
    report = ask(o, [&](const std::string& input) { return client->post("/api/v1/tools/goodput", input); });
  } else {
    GoodputTool tool(o.journal);
    report = ask(o, [&](const std::string& input) -> Result<Value> {
      const auto text = tool.call(parse_json(input).value());
      if (!text) return tl::unexpected(text.error());
      return parse_json(*text);
    });
  }
  if (!report) return say_error(report.error());
  put(o.format == report::Format::json ? report::render_json(*report)
                                       : report::render_goodput_text(*report, {.colour = colour_wanted(), .now = {}}));
  return finish_output();
}

}  // namespace muster::cmd
