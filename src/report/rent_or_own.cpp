#include "report/rent_or_own.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json_writer.h"
#include "base/text.h"
#include "model/fields.h"
#include "report/cost.h"
#include "report/table.h"
#include "report/units.h"

namespace muster::report {
namespace {

using predict::RentOrOwn;

// Later than what was bought lives, as a mark: then all of it would have to be bought again.
std::string even(const predict::RentOrOwn& a) {
  if (!std::isfinite(a.at_constant)) return "never";
  return a.at_constant > a.months ? fmt::format("({})", render_decimal(a.at_constant, 1)) : render_decimal(a.at_constant, 1);
}

std::string months(double m) { return std::isfinite(m) ? render_decimal(m, 1) : "never"; }
std::string share(double s) { return std::isfinite(s) && s <= 1 ? fmt::format("{:.0f} %", 100 * s) : "none"; }
bool drawn(const RentOrOwnView& v) { return !v.cases.empty() && v.cases.front().answer.draws > 0; }

// " (stale, far_off)"; empty: nothing is doubtful.
std::string doubts(const RentCase& c) {
  std::vector<std::string> all;
  for (const std::string_view f : split(c.flags, ' ')) {
    if (!f.empty()) all.emplace_back(f);
  }
  if (c.stale && std::find(all.begin(), all.end(), "stale") == all.end()) all.emplace_back("stale");
  return all.empty() ? "" : " (" + join(all, ", ") + ")";
}

Table table_of(const RentOrOwnView& v) {
  Table t;
  t.columns = {{"CLOUD"}, {"MACHINE"}, {"USD A GPU-HOUR", true}, {"OF"}, {"EVEN MONTH", true}};
  if (drawn(v)) {
    for (const char* name : {"P10", "P50", "P90", "NEVER"}) t.columns.push_back({name, true});
  }
  t.columns.push_back({"EVEN AT USD", true});
  t.columns.push_back({"EVEN AT USE", true});
  for (const RentCase& c : v.cases) {
    const RentOrOwn& a = c.answer;
    const Tone tone = a.at_constant <= a.months ? Tone::good : Tone::warn;
    std::vector<Cell> cells = {
        Cell(c.cloud), Cell(c.instance), Cell(render_decimal(c.usd_per_gpu_hour, 2)),
        Cell(c.priced_on.empty() ? "named" : c.priced_on + doubts(c), doubts(c).empty() ? Tone::plain : Tone::warn),
        Cell(even(a), tone)};
    if (drawn(v)) {
      for (const double p : {a.at.p10, a.at.p50, a.at.p90}) cells.emplace_back(months(p));
      cells.emplace_back(fmt::format("{:.0f} %", 100 * a.never));
    }
    cells.emplace_back(render_decimal(a.even_usd_per_gpu_hour, 2));
    cells.emplace_back(share(a.even_utilisation));
    t.rows.push_back(std::move(cells));
  }
  return t;
}

std::string verdict(const RentCase& c) {
  const RentOrOwn& a = c.answer;
  const std::string price = fmt::format("{} at {:.2f} USD", c.cloud.empty() ? "renting" : printable(c.cloud), c.usd_per_gpu_hour);
  if (!std::isfinite(a.at_constant))
    return fmt::format("Against {}, owning never costs less: keeping it running costs as much as renting.\n", price);
  if (a.at_constant > a.months)
    return fmt::format("Against {}, owning would cost less after {} months, when its {} months are over.\n", price,
                       months(a.at_constant), render_number(a.months));
  return fmt::format("Against {}, owning has cost less from month {} on.\n", price, months(a.at_constant));
}

std::string basis(const RentOrOwnView& v) {
  const RentOrOwn& a = v.cases.front().answer;
  std::string out = fmt::format(
      "Owning: {} M USD at once and {} M a year; {} GPU-hours a month would be rented. {} months are looked ahead, money at {:g} "
      "% a "
      "year; {}.\n",
      render_decimal(a.capital_usd / 1e6, 2), render_decimal(a.monthly_usd * 12 / 1e6, 2), render_decimal(a.gpu_hours_a_month, 0),
      render_number(a.months), 100 * v.site.interest.likely,
      v.resale == predict::Resale::none     ? "nothing is sold"
      : v.resale == predict::Resale::at_end ? "sold at any time for what is left in the end"
                                            : "sold for what is left in a straight line");
  if (v.asked_gpu_hours > a.gpu_hours_a_month + 0.5)
    out += fmt::format("note: {} GPU-hours a month were asked for, and the site delivers {}: the rest is rented either way\n",
                       render_decimal(v.asked_gpu_hours, 0), render_decimal(a.gpu_hours_a_month, 0));
  if (!v.discounts.empty()) out += fmt::format("Off list prices, in every figure here: {}.\n", v.discounts);
  if (std::any_of(v.cases.begin(), v.cases.end(), [](const RentCase& c) {
        return std::isfinite(c.answer.at_constant) && c.answer.at_constant > c.answer.months;
      }))
    out += "(Months) in brackets lie beyond those looked ahead.\n";
  if (!v.site.gpu.empty() && !v.gpu.empty() && lower(v.gpu) != lower(v.site.gpu))
    out += fmt::format("note: an hour of {} is compared with an hour of {}: they do not do the same work\n",
                       printable(v.site.gpu), printable(v.gpu));
  out += money_notes(v.site, predict::yearly_cost(v.site));
  if (!drawn(v)) return out;
  out += fmt::format("P10 to P90 of {} draws, seed {}: ", render_count(a.draws), v.seed);
  if (v.months > 0) {
    out += fmt::format("prices move as in {} months of {}, three months at a time{}", v.months,
                       v.series == 1 ? "one series" : fmt::format("{} series", v.series),
                       v.drift ? ", their mean included" : ", without their mean");
  } else {
    out += "the price stays";
  }
  if (!predict::all_certain(v.site)) out += "; what is uncertain of the site is drawn too";
  return out + ". NEVER: within the months looked ahead.\n";
}

void write_months(JsonWriter& w, std::string_view key, double m) {
  w.key(key);
  std::isfinite(m) ? w.value(m) : w.null();
}

void write_case(JsonWriter& w, const RentCase& c) {
  const RentOrOwn& a = c.answer;
  w.object().field("cloud", c.cloud).field("instance", c.instance).field("usd_per_gpu_hour", c.usd_per_gpu_hour);
  w.key("priced_on");
  c.priced_on.empty() ? w.null() : w.value(c.priced_on);
  w.field("stale", c.stale)
      .field("flags", c.flags)
      .field("months_ahead", a.months)
      .field("gpu_hours_a_month", a.gpu_hours_a_month);
  w.field("capital_usd", a.capital_usd).field("operating_usd_a_month", a.monthly_usd);
  write_months(w, "break_even_months", a.at_constant);
  w.field("break_even_usd_per_gpu_hour", a.even_usd_per_gpu_hour);
  write_months(w, "break_even_utilisation", a.even_utilisation);
  if (a.draws > 0) {
    w.field("draws", a.draws).key("break_even_months_band").object();
    write_months(w, "p10", a.at.p10);
    write_months(w, "p50", a.at.p50);
    write_months(w, "p90", a.at.p90);
    w.end_object().field("never_share", a.never);
  }
  w.key("own_usd").array();
  for (const double usd : a.own_usd) w.value(usd);
  w.end_array().key("rent_if_price_stays_usd").array();
  for (const double usd : a.rent_steady_usd) w.value(usd);
  w.end_array();
  if (!a.rent_usd.empty()) {
    w.key("rent_usd").array();
    for (const predict::Band& b : a.rent_usd) w.object().field("p10", b.p10).field("p50", b.p50).field("p90", b.p90).end_object();
    w.end_array();
  }
  w.end_object();
}

}  // namespace

Chart rent_or_own_chart(const RentOrOwnView& v, const RentCase& one) {
  const RentOrOwn& a = one.answer;
  Chart c;
  c.title =
      fmt::format("spent until then, M USD: {} owned, and rented from {}", v.site.name, one.cloud.empty() ? "others" : one.cloud);
  c.begin = "month 0";
  c.end = fmt::format("month {}", a.own_usd.size() - 1);
  Panel p;
  p.title = "M USD";
  const auto millions = [](const std::vector<double>& usd) {
    std::vector<double> out;
    for (const double x : usd) out.push_back(std::max(0.0, x / 1e6));
    return out;
  };
  p.lines.push_back({"owned", millions(a.own_usd)});
  if (a.rent_usd.empty()) {
    p.lines.push_back({"rented, if its price stays", millions(a.rent_steady_usd)});
  } else {
    for (const auto& [name, part] : {std::pair{"rented, P10", &predict::Band::p10},
                                     {"rented, P50", &predict::Band::p50},
                                     {"rented, P90", &predict::Band::p90}}) {
      std::vector<double> usd;
      for (const predict::Band& b : a.rent_usd) usd.push_back(b.*part);
      p.lines.push_back({name, millions(usd)});
    }
  }
  for (const Line& l : p.lines) p.max = std::max(p.max, *std::max_element(l.values.begin(), l.values.end()));
  c.panels.push_back(std::move(p));
  return c;
}

std::string rent_or_own_text(const RentOrOwnView& v, bool colour, bool unicode) {
  std::string out = fmt::format("{} against rented {}, {}\n\n", printable(v.site.name), printable(v.gpu), v.term);
  out += render_table(table_of(v), {.colour = colour}) + "\n";
  if (v.cases.size() == 1) {
    out += verdict(v.cases.front());
    out += basis(v) + "\n" + render_terminal(rent_or_own_chart(v, v.cases.front()), {78, 4, unicode});
    return out;
  }
  return out + basis(v) + "--cloud NAME draws the course of one.\n";
}

std::string rent_or_own_json(const RentOrOwnView& v) {
  JsonWriter w;
  w.object().field("apiVersion", "v1").field("kind", "RentOrOwn").field("currency", "USD").field("site", v.site.name);
  w.field("gpu", v.gpu).field("term", v.term).field("seed", v.seed).field("resale", name_of(v.resale));
  w.field("interest", v.site.interest.likely)
      .field("price_series", v.series)
      .field("price_months", v.months)
      .field("drift", v.drift)
      .field("discounts", v.discounts);
  if (const ExchangeRate& from = v.site.file; !from.dollars())
    w.key("converted_from")
        .object()
        .field("currency", from.currency)
        .field("usd", from.usd)
        .field("as_of", from.day)
        .end_object();
  w.key("not_counted").array();
  for (const CostClass c : not_counted(v.site, predict::yearly_cost(v.site))) w.value(name_of(c));
  w.end_array();
  w.key("items").array();
  for (const RentCase& c : v.cases) write_case(w, c);
  w.end_array().end_object();
  return w.take() + "\n";
}

// Numbers as programs read them, empty where there is none: "never" is an empty month.
std::string rent_or_own_csv(const RentOrOwnView& v) {
  Table t;
  for (const char* name : {"CLOUD", "MACHINE", "USD_PER_GPU_HOUR", "PRICED_ON", "STALE", "FLAGS", "MONTHS_AHEAD", "EVEN_MONTHS",
                           "P10_MONTHS", "P50_MONTHS", "P90_MONTHS", "NEVER_SHARE", "EVEN_USD_PER_GPU_HOUR", "EVEN_UTILISATION"})
    t.columns.push_back({name});
  const auto number = [](double d) { return Cell(std::isfinite(d) ? render_number(d) : ""); };
  for (const RentCase& c : v.cases) {
    const RentOrOwn& a = c.answer;
    const auto band = [&](double d) { return a.draws > 0 ? number(d) : Cell(""); };
    t.rows.push_back({Cell(c.cloud), Cell(c.instance), number(c.usd_per_gpu_hour), Cell(c.priced_on),
                      Cell(c.stale ? "true" : "false"), Cell(c.flags), number(a.months), number(a.at_constant), band(a.at.p10),
                      band(a.at.p50), band(a.at.p90), band(a.never), number(a.even_usd_per_gpu_hour),
                      number(a.even_utilisation)});
  }
  return render_csv(t, true);
}

}  // namespace muster::report
