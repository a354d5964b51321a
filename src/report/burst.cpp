#include "report/burst.h"

#include <fmt/format.h>

#include "base/json_writer.h"
#include "model/fields.h"
#include "report/table.h"
#include "report/units.h"

namespace muster::report {
namespace {

using predict::BurstOption;
using predict::BurstPart;
using predict::BurstTurn;
using predict::BurstWay;

std::string hours(double h) { return h >= 48 ? fmt::format("{:.1f} days", h / 24) : fmt::format("{:.1f} h", h); }

std::string ready(const BurstView& v, double h) {
  if (!v.from) return "after " + hours(h);
  return render_utc(*v.from + from_seconds(h * 3600)).substr(0, 16) + "Z";
}

Table options(const BurstView& v) {
  Table t;
  t.columns = {{"WAY"}, {"PART"}, {"USD", true}, {"TIME", true}, {"RESULTS"}};
  for (const BurstOption& o : v.answer.options) {
    for (const BurstPart& p : o.parts)
      t.rows.push_back({Cell(std::string(name_of(o.way))), Cell(p.name), Cell(p.usd > 0 ? render_decimal(p.usd, 0) : ""),
                        Cell(p.hours > 0 ? hours(p.hours) : ""), Cell("")});
    if (o.late_usd > 0)
      t.rows.push_back(
          {Cell(std::string(name_of(o.way))), Cell("days that pass"), Cell(render_decimal(o.late_usd, 0)), Cell(""), Cell("")});
    t.rows.push_back({Cell(std::string(name_of(o.way))), Cell("together"), Cell(render_decimal(o.usd, 0)), Cell(hours(o.hours)),
                      Cell(ready(v, o.hours) + (o.in_time ? "" : ": too late"), o.in_time ? Tone::good : Tone::bad)});
  }
  return t;
}

const char* wins(BurstWay w) {
  switch (w) {
    case BurstWay::rent: return "Renting";
    case BurstWay::wait: return "Waiting";
    case BurstWay::buy: break;
  }
  return "Buying";
}

std::string verdict(const BurstView& v) {
  const auto& all = v.answer.options;
  const BurstOption* best = v.answer.best();
  if (best == nullptr)
    return fmt::format("Nothing is in time; {} is the cheapest, {}.\n", name_of(all.front().way), ready(v, all.front().hours));
  std::string out =
      fmt::format("{} wins: {} USD, results {}", wins(best->way), render_decimal(best->usd, 0), ready(v, best->hours));
  if (all.size() > 1) {
    const BurstOption& next = all[1];
    const double later = next.hours - best->hours;
    out += fmt::format("; to {} would cost {} USD {}, results {} {}{}", name_of(next.way),
                       render_decimal(std::abs(next.usd - best->usd), 0), next.usd >= best->usd ? "more" : "less",
                       hours(std::abs(later)), later >= 0 ? "later" : "sooner", next.in_time ? "" : ", too late");
    if (later < 0 && next.usd > best->usd)
      out += fmt::format(" ({} USD for each day sooner)", render_decimal((next.usd - best->usd) / (-later / 24), 0));
  }
  return out + ".\n";
}

std::string turn(const BurstTurn& t) {
  const bool data = t.what == "data_tb";
  const std::string at =
      data ? render_decimal(t.at, t.at < 100 ? 1 : 0) + " TB of data" : render_decimal(t.at, 2) + " USD a rented GPU-hour";
  return fmt::format("  {} {}, {} wins{}\n", t.at > t.now ? "above" : "below", at, name_of(t.to),
                     t.by_time ? ": the other would be too late" : "");
}

}  // namespace

std::string burst_text(const BurstView& v, bool colour) {
  std::string out = render_table(options(v), {.colour = colour}) + "\n" + verdict(v);
  const predict::Burst& a = v.answer;
  if (a.link_gb_s > 0)
    out += fmt::format("The link carries {:.2f} GB/s, {:.0f} % of its rate: {}.\n", a.link_gb_s, 100 * a.link_share,
                       a.by_window ? "round trips hold the streams back (more --streams, a larger --window)"
                                   : "frames and headers take the rest");
  if (v.own_free)
    out += "note: an hour of one's own GPUs is taken to cost nothing; --own-price, or --site, says what its power costs\n";
  std::string turns;
  for (const BurstTurn& t : a.turns) {
    if (t.what == "data_tb" || t.at >= 0.005) turns += turn(t);  // nobody rents for nothing
  }
  return turns.empty() ? out : out + "It turns:\n" + turns;
}

std::string burst_json(const BurstView& v) {
  JsonWriter w;
  w.object().field("apiVersion", "v1").field("kind", "Burst").field("currency", "USD").field("gpu_hours", v.ask.gpu_hours);
  w.field("own_usd_per_gpu_hour", v.ask.own_usd_per_gpu_hour).field("own_hours_taken_as_free", v.own_free);
  w.field("data_tb", v.ask.data_tb).field("results_tb", v.ask.results_tb).key("best");
  v.answer.best() != nullptr ? w.value(name_of(v.answer.best()->way)) : w.null();
  w.field("link_gb_per_s", v.answer.link_gb_s)
      .field("link_share", v.answer.link_share)
      .field("link_bound_by_round_trips", v.answer.by_window);
  w.key("items").array();
  for (const BurstOption& o : v.answer.options) {
    w.object()
        .field("way", name_of(o.way))
        .field("usd", o.usd)
        .field("hours", o.hours)
        .field("late_usd", o.late_usd)
        .field("in_time", o.in_time);
    if (v.from) w.field("results_utc", render_utc(*v.from + from_seconds(o.hours * 3600)));
    w.key("parts").array();
    for (const BurstPart& p : o.parts) w.object().field("name", p.name).field("usd", p.usd).field("hours", p.hours).end_object();
    w.end_array().end_object();
  }
  w.end_array().key("turns").array();
  for (const BurstTurn& t : v.answer.turns) {
    w.object()
        .field("what", t.what)
        .field("now", t.now)
        .field("at", t.at)
        .field("to", name_of(t.to))
        .field("by_time", t.by_time)
        .end_object();
  }
  w.end_array().end_object();
  return w.take() + "\n";
}

}  // namespace muster::report
