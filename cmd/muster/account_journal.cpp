// `muster account` without files of a site: from a journal, or asked of a running Muster.
#include "account_tool.h"
#include "base/json_writer.h"
#include "client.h"
#include "commands.h"
#include "ingest/json.h"
#include "report/document.h"
#include "say.h"

namespace muster::cmd {
namespace {

std::string question(const AccountOptions& o) {
  JsonWriter w;
  w.object().field("by", o.by).field("target_pct", o.target_pct);
  if (!o.from.empty()) w.field("from", o.from);
  if (!o.to.empty()) w.field("to", o.to);
  if (o.since_s > 0) w.field("since_s", o.since_s);
  if (o.price) w.field("price", *o.price);
  if (o.cost_per_year) w.field("cost_per_year", *o.cost_per_year);
  if (!o.currency.empty()) w.field("currency", o.currency);
  if (!o.only_account.empty()) w.field("account", o.only_account);
  if (!o.only_partition.empty()) w.field("partition", o.only_partition);
  if (!o.only_user.empty()) w.field("user", o.only_user);
  w.end_object();
  return w.take();
}

Result<Value> ask(const AccountOptions& o) {
  if (o.journal.empty()) {
    const auto client = Client::open(o.connection);
    if (!client) return tl::unexpected(client.error());
    return client->post("/api/v1/tools/account", question(o));
  }
  AccountTool tool(o.journal);
  const auto text = tool.call(parse_json(question(o)).value());
  if (!text) return tl::unexpected(text.error());
  return parse_json(*text);
}

}  // namespace

int run_account_journal(const AccountOptions& o) {
  const AccountFiles& f = o.files;
  if (!f.nodes.empty() || !f.events.empty() || !f.activity.empty() || !f.prometheus.empty() || f.zone != "UTC")
    return say_error(
        {Code::bad_input, "--nodes, --events, --activity, --prometheus and --zone are for --sacct",
         "give --sacct, or leave them out: a record of Muster knows its nodes and outages, and its days are of UTC"});
  const auto account = ask(o);
  if (!account) return say_error(account.error());
  switch (o.format) {
    case report::Format::json: put(report::render_json(*account)); break;
    case report::Format::csv: put(report::render_flow_account_csv(*account)); break;
    default: put(report::render_flow_account(*account, o.limit, {.colour = colour_wanted(), .now = {}}));
  }
  return finish_output();
}

}  // namespace muster::cmd
