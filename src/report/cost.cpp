#include "report/cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json_writer.h"
#include "base/text.h"
#include "model/fields.h"
#include "report/units.h"

namespace muster::report {
namespace {

using predict::Band;
using predict::CostLine;
using predict::GpuHour;

constexpr std::size_t kBar = 24;  // columns of a share of all

struct Row {
  std::string part, name;
  double usd = 0, share = 0;
  std::optional<double> capital, changed;
};

std::vector<Row> rows_of(const CostView& v, bool wide) {
  std::vector<Row> out;
  const auto& cost = v.base.cost;
  const auto share = [&](double usd) { return cost.usd_a_year > 0 ? usd / cost.usd_a_year : 0; };
  for (std::size_t k = 0; k < kCostClasses; ++k) {
    const auto c = static_cast<CostClass>(k);
    if (wide) {
      for (const CostLine& l : cost.lines) {
        if (l.of != c) continue;
        Row r{"item", l.name, l.usd_a_year, share(l.usd_a_year), l.capital_usd, {}};
        if (v.changed) {
          const auto& other = v.changed->cost.lines;
          const auto same =
              std::find_if(other.begin(), other.end(), [&](const CostLine& x) { return x.of == c && x.name == l.name; });
          r.changed = same == other.end() ? 0 : same->usd_a_year;
        }
        out.push_back(std::move(r));
      }
      // Lines that only the changed site has.
      for (const CostLine& l : v.changed ? v.changed->cost.lines : std::vector<CostLine>{}) {
        const auto known = [&](const CostLine& x) { return x.of == c && x.name == l.name; };
        if (l.of == c && std::none_of(cost.lines.begin(), cost.lines.end(), known))
          out.push_back({"item", l.name, 0, 0, 0, l.usd_a_year});
      }
      continue;
    }
    Row r{"item", std::string(cost_word(c)), cost.of(c), share(cost.of(c)), {}, {}};
    if (v.changed) r.changed = v.changed->cost.of(c);
    if (r.usd != 0 || r.changed.value_or(0) != 0) out.push_back(std::move(r));
  }
  return out;
}

std::string signed_usd(double d, int decimals) { return (d > 0 ? "+" : "") + render_decimal(d, decimals); }

std::string bar(double share, bool unicode) {
  const auto n = static_cast<std::size_t>(std::lround(std::clamp(share, 0.0, 1.0) * kBar * 2));
  std::string out;
  for (std::size_t i = 0; i < n / 2; ++i) out += unicode ? "█" : "#";
  if (n % 2 == 1) out += unicode ? "▌" : "-";
  return out;
}

std::string name_of_change(const CostView& v) {
  std::string s;
  for (const auto& [key, value] : v.settings) s += (s.empty() ? "" : ", ") + key + " " + value;
  return s;
}

void add_change(const CostView& v, std::vector<Cell>& cells, double from, double to, int decimals) {
  if (!v.changed) return;
  cells.emplace_back(render_decimal(to, decimals));
  cells.emplace_back(signed_usd(to - from, decimals), to > from ? Tone::warn : to < from ? Tone::good : Tone::plain);
}

Table items(const CostView& v, const CostStyle& style) {
  Table t;
  t.columns = {{"ITEM"}, {"USD A YEAR", true}};
  if (v.changed) {
    t.columns.push_back({"CHANGED", true});
    t.columns.push_back({"DIFFERENCE", true});
  }
  if (style.wide) t.columns.push_back({"AT ONCE", true});
  t.columns.push_back({"SHARE", true});
  t.columns.push_back({""});
  for (const Row& r : rows_of(v, style.wide)) {
    std::vector<Cell> cells = {Cell(r.name), Cell(render_decimal(r.usd, 0))};
    add_change(v, cells, r.usd, r.changed.value_or(0), 0);
    if (style.wide) cells.emplace_back(r.capital.value_or(0) > 0 ? render_decimal(*r.capital, 0) : "");
    cells.emplace_back(fmt::format("{:.0f} %", 100 * r.share));
    cells.emplace_back(bar(r.share, style.unicode), Tone::dim);
    t.rows.push_back(std::move(cells));
  }
  std::vector<Cell> total = {Cell("together"), Cell(render_decimal(v.base.cost.usd_a_year, 0))};
  add_change(v, total, v.base.cost.usd_a_year, v.changed ? v.changed->cost.usd_a_year : 0, 0);
  if (style.wide) total.emplace_back(render_decimal(v.base.cost.capital_usd, 0));
  total.emplace_back("100 %");
  total.emplace_back("");
  t.rows.push_back(std::move(total));
  return t;
}

Table rates(const CostView& v) {
  Table t;
  t.columns = {{"A GPU-HOUR"}, {"HOURS A YEAR", true}, {"USD", true}};
  if (v.changed) {
    t.columns.push_back({"CHANGED", true});
    t.columns.push_back({"DIFFERENCE", true});
  }
  const predict::UncertainCost& u = v.changed ? v.changed->uncertain : v.base.uncertain;
  if (u.draws > 0) {
    for (const char* name : {"P10", "P50", "P90"}) t.columns.push_back({name, true});
  }
  for (std::size_t k = 0; k < predict::kGpuHourKinds; ++k) {
    const auto h = static_cast<GpuHour>(k);
    std::vector<Cell> cells = {Cell(std::string(name_of(h))), Cell(render_decimal(v.base.cost.gpu_hours[k], 0)),
                               Cell(render_decimal(v.base.cost.rate(h), 2))};
    add_change(v, cells, v.base.cost.rate(h), v.changed ? v.changed->cost.rate(h) : 0, 2);
    if (u.draws > 0) {
      for (const double p : {u.rates[k].p10, u.rates[k].p50, u.rates[k].p90}) cells.emplace_back(render_decimal(p, 2));
    }
    t.rows.push_back(std::move(cells));
  }
  return t;
}

std::string power_line(const char* whose, const CostSide& s) {
  return fmt::format("{}: {} kW of machines on average, PUE {:.2f} ({}), {} MWh a year, peak {} kW\n", whose,
                     render_decimal(s.cost.it_kw, 0), s.cost.pue, name_of(s.site.cooling), render_decimal(s.cost.kwh / 1000, 0),
                     render_decimal(s.cost.peak_kw, 0));
}

std::string notes(const CostView& v) {
  std::string out;
  const CostSide& s = v.changed ? *v.changed : v.base;
  if (s.uncertain.draws > 0) {
    out += fmt::format("\nP10 to P90 of {} draws (seed {}) of what is uncertain{}; moves most a useful GPU-hour:\n",
                       render_count(s.uncertain.draws), v.seed, v.changed ? ", of the changed site" : "");
    for (std::size_t i = 0; i < std::min<std::size_t>(5, s.uncertain.swings.size()); ++i) {
      const predict::Swing& w = s.uncertain.swings[i];
      out += fmt::format("  {:<28} {:.2f} to {:.2f} USD\n", printable(w.key), std::min(w.at_low, w.at_high),
                         std::max(w.at_low, w.at_high));
    }
  }
  const double lost = s.cost.down_gpu_hours / s.cost.gpu_hours[0];
  if (lost > 1 - s.site.availability.likely + 1e-9) {
    out += fmt::format(
        "note: repairs alone take {:.1f} % of all hours, more than the {:.1f} % that an availability of {:g} leaves\n",
        100 * lost, 100 * (1 - s.site.availability.likely), s.site.availability.likely);
  }
  out += money_notes(s.site, s.cost);
  if (v.changed && v.changed->site.cooling != v.base.site.cooling) {
    if (v.base.site.pue && !v.changed->site.pue)
      out += fmt::format("note: PUE {:.2f} is what is usual with {} cooling; --set pue=... for one's own\n", v.changed->cost.pue,
                         name_of(s.site.cooling));
    out += "note: what it costs to install another cooling is not added; it belongs under capital, for facility\n";
  }
  if (!s.site.assumptions.empty()) {
    out += "\nassumed:\n";
    for (const std::string& a : s.site.assumptions) out += "  " + wrap(printable(a), 110, 2) + "\n";
  }
  return out;
}

void write_band(JsonWriter& w, const Band& b) {
  w.object().field("p10", b.p10).field("p50", b.p50).field("p90", b.p90).end_object();
}

void write_estimate(JsonWriter& w, const Estimate& e) {
  if (e.certain()) {
    w.value(e.likely);
  } else {
    w.object().field("low", e.low).field("likely", e.likely).field("high", e.high).end_object();
  }
}

void write_rates(JsonWriter& w, const CostSide& s) {
  for (std::size_t k = 0; k < predict::kGpuHourKinds; ++k) {
    const auto h = static_cast<GpuHour>(k);
    w.key(name_of(h)).object().field("gpu_hours_a_year", s.cost.gpu_hours[k]).field("usd_per_gpu_hour", s.cost.rate(h));
    if (s.uncertain.draws > 0) write_band(w.key("usd_per_gpu_hour_band"), s.uncertain.rates[k]);
    w.end_object();
  }
}

void write_side(JsonWriter& w, const CostSide& s) {
  const predict::YearlyCost& c = s.cost;
  w.object()
      .field("usd_a_year", c.usd_a_year)
      .field("capital_usd", c.capital_usd)
      .field("operating_usd_a_year", c.operating_usd_a_year);
  w.key("shares").object();
  for (std::size_t k = 0; k < kCostClasses; ++k) {
    const auto of = static_cast<CostClass>(k);
    w.field(name_of(of), c.usd_a_year > 0 ? c.of(of) / c.usd_a_year : 0);
  }
  w.end_object().key("items").array();
  for (const CostLine& l : c.lines) {
    w.object().field("class", name_of(l.of)).field("name", l.name).field("usd_a_year", l.usd_a_year);
    w.field("capital_usd", l.capital_usd).end_object();
  }
  w.end_array().key("rates").object();
  write_rates(w, s);
  w.end_object().key("not_counted").array();
  for (const CostClass of : not_counted(s.site, c)) w.value(name_of(of));
  w.end_array();
  w.key("power").object().field("cooling", name_of(s.site.cooling)).field("pue", c.pue).field("it_mean_kw", c.it_kw);
  w.field("it_nameplate_kw", c.nameplate_kw).field("peak_kw", c.peak_kw).field("energy_kwh", c.kwh).end_object();
  w.key("inputs").object();
  visit_numbers(s.site, [&](const std::string& key, const Estimate& e, const CostBounds&) { write_estimate(w.key(key), e); });
  w.end_object();
  if (s.uncertain.draws > 0) {
    w.field("draws", s.uncertain.draws);
    write_band(w.key("usd_a_year_band"), s.uncertain.usd_a_year);
    w.key("swings").array();
    for (const predict::Swing& x : s.uncertain.swings)
      w.object()
          .field("key", x.key)
          .field("useful_usd_per_gpu_hour_at_low", x.at_low)
          .field("useful_usd_per_gpu_hour_at_high", x.at_high)
          .end_object();
    w.end_array();
  }
  w.end_object();
}

}  // namespace

std::string_view cost_word(CostClass c) {
  switch (c) {
    case CostClass::gpus: return "GPUs";
    case CostClass::facility: return "hall";
    default: return name_of(c);
  }
}

std::vector<CostClass> not_counted(const CostSite& site, const predict::YearlyCost& cost) {
  std::vector<CostClass> out;
  for (std::size_t k = 0; k < kCostClasses; ++k) {
    const auto c = static_cast<CostClass>(k);
    if (cost.of(c) == 0 && !(c == CostClass::energy && site.hall_includes_power)) out.push_back(c);
  }
  return out;
}

std::string money_notes(const CostSite& site, const predict::YearlyCost& cost) {
  std::string out;
  std::vector<std::string> none;
  for (const CostClass c : not_counted(site, cost)) none.emplace_back(cost_word(c));
  if (!none.empty()) out += fmt::format("note: nothing is counted for {}: the site has no cost of it\n", join(none, ", "));
  if (site.utilisation == Estimate(1) && site.goodput == Estimate(1))
    out += "note: use.utilisation and use.goodput are 1: every hour that is owned counts as useful\n";
  if (!site.file.dollars())
    out += fmt::format("note: the file is in {}, at {} USD of {}; so is what --set changes. Everything here is in USD\n",
                       site.file.currency, render_number(site.file.usd), site.file.day);
  return out;
}

std::string cost_text(const CostView& v, const CostStyle& style) {
  const CostSite& s = v.base.site;
  std::string out = fmt::format("{}: {} GPUs{}, prices of {}\n", printable(s.name), render_decimal(s.gpus.likely, 0),
                                s.gpu.empty() ? "" : " (" + printable(s.gpu) + ")", s.as_of);
  if (v.changed) out += "changed: " + printable(name_of_change(v)) + "\n";
  out += "\n" + render_table(items(v, style), {.colour = style.colour});
  out += "\n" + render_table(rates(v), {.colour = style.colour});
  out += "\n" + power_line(v.changed ? "power now" : "power", v.base);
  if (v.changed) out += power_line("changed", *v.changed);
  return out + notes(v);
}

std::string cost_json(const CostView& v) {
  JsonWriter w;
  w.object().field("apiVersion", "v1").field("kind", "Cost").field("currency", "USD").field("site", v.base.site.name);
  w.field("gpu", v.base.site.gpu).field("as_of", v.base.site.as_of).field("seed", v.seed);
  if (const ExchangeRate& from = v.base.site.file; !from.dollars())
    w.key("converted_from")
        .object()
        .field("currency", from.currency)
        .field("usd", from.usd)
        .field("as_of", from.day)
        .end_object();
  write_side(w.key("base"), v.base);
  if (v.changed) {
    w.key("settings").object();
    for (const auto& [key, value] : v.settings) w.field(key, value);
    w.end_object();
    write_side(w.key("changed"), *v.changed);
    w.key("difference").object().field("usd_a_year", v.changed->cost.usd_a_year - v.base.cost.usd_a_year);
    for (std::size_t k = 0; k < predict::kGpuHourKinds; ++k) {
      const auto h = static_cast<GpuHour>(k);
      w.field(fmt::format("{}_usd_per_gpu_hour", name_of(h)), v.changed->cost.rate(h) - v.base.cost.rate(h));
    }
    w.end_object();
  }
  w.key("assumptions").array();
  for (const std::string& a : v.base.site.assumptions) w.value(a);
  w.end_array().end_object();
  return w.take() + "\n";
}

std::string cost_csv(const CostView& v) {
  Table t;
  t.columns = {{"PART"},        {"NAME"},    {"USD"},     {"SHARE_PCT"}, {"CAPITAL_USD"},
               {"CHANGED_USD"}, {"P10_USD"}, {"P50_USD"}, {"P90_USD"}};
  const auto number = [](std::optional<double> d) { return Cell(d ? render_number(*d) : ""); };
  const auto add = [&](const Row& r, const Band* b) {
    t.rows.push_back({Cell(r.part), Cell(r.name), number(r.usd), number(100 * r.share), number(r.capital), number(r.changed),
                      number(b ? std::optional(b->p10) : std::nullopt), number(b ? std::optional(b->p50) : std::nullopt),
                      number(b ? std::optional(b->p90) : std::nullopt)});
  };
  const predict::UncertainCost& u = v.changed ? v.changed->uncertain : v.base.uncertain;
  for (const Row& r : rows_of(v, true)) add(r, nullptr);
  add({"total", "together", v.base.cost.usd_a_year, 1, v.base.cost.capital_usd,
       v.changed ? std::optional(v.changed->cost.usd_a_year) : std::nullopt},
      u.draws > 0 ? &u.usd_a_year : nullptr);
  for (std::size_t k = 0; k < predict::kGpuHourKinds; ++k) {
    const auto h = static_cast<GpuHour>(k);
    add({"rate",
         std::string(name_of(h)),
         v.base.cost.rate(h),
         0,
         {},
         v.changed ? std::optional(v.changed->cost.rate(h)) : std::nullopt},
        u.draws > 0 ? &u.rates[k] : nullptr);
  }
  return render_csv(t, true);
}

}  // namespace muster::report
