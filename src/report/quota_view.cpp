// Quotas as JSON, text and CSV.
#include <fmt/core.h>

#include "base/civil.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "report/money_views.h"
#include "report/table.h"
#include "report/units.h"

namespace muster::report {
namespace {

using account::Burn;
using account::Standing;

// Of its unit: GPU-hours, or money.
double in_unit(const Burn& b, double amount) { return amount / (b.granted.money_micro ? 1e6 : 3.6e9); }
std::string unit_of(const Burn& b) { return b.granted.money_micro ? b.granted.currency : "GPU-hours"; }

std::string days_of(const std::optional<Time>& t) { return t ? render_day(day_of(*t)) : "never"; }

std::string runs_out(const Burn& b) {
  switch (b.standing) {
    case Standing::overspent: return "it is gone";
    case Standing::over: return "its time is over";
    case Standing::not_begun: return "it has not begun";
    case Standing::within: return "not before its end";
    case Standing::may_run_out: return fmt::format("{}, or not before its end", days_of(b.out_first));
    case Standing::runs_out: break;
  }
  const std::string first = days_of(b.out_first), last = days_of(b.out_last);
  return first == last ? first : first + " to " + last;
}

Tone tone_of(Standing s) {
  if (s == Standing::overspent) return Tone::bad;
  return s == Standing::runs_out || s == Standing::may_run_out ? Tone::warn : Tone::plain;
}

Cell number(double d, int decimals, Tone tone = Tone::plain) {
  Cell c(render_decimal(d, decimals), tone);
  c.raw = render_number(d);
  c.key = d;
  return c;
}
Cell share(double d) {
  Cell c(render_percent(d));
  c.raw = render_number(d);
  return c;
}

Table table_of(const account::Quotas& q) {
  Table t;
  t.columns = {{.name = "ACCOUNT"},
               {.name = "UNIT"},
               {.name = "GRANTED", .right = true},
               {.name = "USED", .right = true},
               {.name = "LEFT", .right = true},
               {.name = "USED %", .right = true, .csv = "used_share"},
               {.name = "TIME %", .right = true, .csv = "period_gone_share"},
               {.name = "A DAY, 7d", .right = true, .csv = "per_day_7d"},
               {.name = "A DAY, 28d", .right = true, .csv = "per_day_28d"},
               {.name = "UNTIL"},
               {.name = "RUNS OUT", .csv = "runs_out"},
               {.name = "STANDING"}};
  for (const Burn& b : q.burns) {
    const auto in = [&](auto amount) { return in_unit(b, static_cast<double>(amount)); };
    const double used_share = static_cast<double>(b.used) / static_cast<double>(b.grant);
    const Tone tone = tone_of(b.standing);
    t.rows.push_back({Cell(b.granted.account), Cell(unit_of(b)), number(in(b.grant), 1), number(in(b.used), 1),
                      number(in(b.left()), 1, tone), share(used_share), share(b.period_gone), number(in(b.per_day_7), 1),
                      number(in(b.per_day_28), 1), Cell(render_day(day_of(b.granted.to))), Cell(runs_out(b), tone),
                      Cell(std::string(names(Standing{})[static_cast<std::size_t>(b.standing)]), tone)});
  }
  return t;
}

void write_moment(JsonWriter& w, std::string_view key, const std::optional<Time>& t) {
  w.key(key);
  if (t) {
    w.value(render_utc(*t));
  } else {
    w.null();
  }
}

}  // namespace

std::string quota_json(const account::Quotas& q) {
  JsonWriter w;
  w.object().field("apiVersion", "v1").field("kind", "Quotas").field("at_utc", render_utc(q.at));
  w.field("known_from_utc", render_utc(q.known_from)).key("rows").array();
  for (const Burn& b : q.burns) {
    const std::string unit = b.granted.money_micro ? "money" : "gpu_hours";
    w.object().field("account", b.granted.account).field("unit", unit).field("currency", b.granted.currency);
    w.field("from_utc", render_utc(b.granted.from)).field("to_utc", render_utc(b.granted.to));
    const auto put = [&](std::string_view key, double amount) { w.field(fmt::format("{}_{}", key, unit), in_unit(b, amount)); };
    put("granted", static_cast<double>(b.grant));
    put("used", static_cast<double>(b.used));
    put("left", static_cast<double>(b.left()));
    put("per_day_7d", b.per_day_7);
    put("per_day_28d", b.per_day_28);
    w.field("period_gone", b.period_gone);
    write_moment(w, "runs_out_first_utc", b.out_first);
    write_moment(w, "runs_out_last_utc", b.out_last);
    w.field("standing", names(Standing{})[static_cast<std::size_t>(b.standing)]).end_object();
  }
  w.end_array().key("ungranted").array();
  for (const account::Ungranted& u : q.ungranted) {
    w.object().field("account", u.account).field("gpu_hours", static_cast<double>(u.milli_ms) / 3.6e9);
    w.field("has_other_allocations", u.has_others).end_object();
  }
  w.end_array().end_object();
  return w.take();
}

std::string quota_text(const account::Quotas& q, const Page& page) {
  std::string out = fmt::format("As of {}; use is known from {} on.\n\n", render_utc(q.at), render_utc(q.known_from));
  out += render_table(table_of(q), {true, false, page.colour});
  if (!q.ungranted.empty()) out += "\nUse that no allocation covers:\n";
  for (const account::Ungranted& u : q.ungranted) {
    out += fmt::format("  {}: {} GPU-hours{}\n", u.account.empty() ? "(no account)" : printable(u.account),
                       render_decimal(static_cast<double>(u.milli_ms) / 3.6e9, 1),
                       u.has_others ? ", outside of the time of its allocations" : "");
  }
  for (const Burn& b : q.burns) {
    if (b.used > 0 && b.granted.from < q.known_from && b.granted.to > q.known_from) {
      out += "\nNote: some allocations began before the first use that is known: what was used before it is not in USED.\n";
      break;
    }
  }
  return out;
}

std::string quota_csv(const account::Quotas& q) { return render_csv(table_of(q), true); }

}  // namespace muster::report
