// muster capacity procure: what an addition of nodes takes to buy, until when it has to be ordered, and what it costs.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/json_writer.h"
#include "capacity_dates.h"
#include "capacity_options.h"
#include "capacity_trace.h"
#include "files.h"
#include "ingest/hardware_file.h"
#include "ingest/procurement_file.h"
#include "predict/procure.h"
#include "report/table.h"
#include "report/units.h"
#include "say.h"

namespace muster::cmd {
namespace {

using predict::Purchase;
using predict::SheetLine;
using report::Cell;

struct Sheet {
  predict::PurchaseAsk ask;
  Purchase buy;
  ProcurementTerms terms;
  std::string why;  // where the dates come from
  std::optional<Time> today;
  std::string gpu_source;
  std::map<std::string, std::string> price_sources;
  double kw = 0;
  std::uint64_t racks = 0;
  std::vector<RunOutDate> ends;  // GPUs, racks, power and a quota, by the forecast of the record
  predict::DemandDays demand;
  std::size_t horizon = 0;
};

const BuyTerms& terms_of(const Sheet& s, const SheetLine& l) { return s.terms[static_cast<std::size_t>(l.terms)]; }

std::string day(const std::optional<Time>& t) { return t ? render_utc(*t).substr(0, 10) : std::string("-"); }

// Where the price of one is from, which is another table than its spread.
std::string price_source(const Sheet& s, const SheetLine& l) {
  if (l.terms == BuyItem::server || l.terms == BuyItem::gpu) return s.gpu_source;
  const char* item = l.terms == BuyItem::switch_         ? "switch"
                     : l.terms == BuyItem::transceiver   ? "transceiver"
                     : l.item.ends_with("leaf to spine") ? "fibre"
                                                         : "active cable";
  const auto at = s.price_sources.find(item);
  return at == s.price_sources.end() ? std::string("of --prices") : at->second;
}

std::string weeks(const SheetLine& l) { return fmt::format("{:g}-{:g}", l.weeks_low, l.weeks_high); }

report::Table table_of(const Sheet& s) {
  report::Table t;
  t.columns = {{.name = "ITEM", .csv = "item"},
               {.name = "NEEDED", .right = true, .csv = "needed"},
               {.name = "SPARES", .right = true, .csv = "spares"},
               {.name = "USD EACH", .right = true, .csv = "usd_each"},
               {.name = "USD", .right = true, .csv = "usd"},
               {.name = "LOW", .right = true, .csv = "usd_low"},
               {.name = "HIGH", .right = true, .csv = "usd_high"},
               {.name = "WEEKS", .csv = "lead_weeks"},
               {.name = "WEEKS FROM", .csv = "lead_weeks_from"},
               {.name = "ORDER BY", .csv = "order_by_p50"},
               {.name = "TO BE SAFE", .csv = "order_by_p10"},
               {.name = "PRICE SPREAD FROM", .wide = true, .csv = "price_spread_from"},
               {.name = "FAILURES A YEAR", .right = true, .wide = true, .csv = "failures_per_year"},
               {.name = "FAILURES FROM", .wide = true, .csv = "failures_from"},
               {.name = "PRICE", .wide = true, .csv = "price_source"},
               {.name = "SOURCE", .wide = true, .csv = "source"}};
  const auto money = [](double usd) {
    Cell c(report::render_count(std::llround(usd)));
    c.raw = fmt::format("{:.0f}", usd);
    return c;
  };
  const auto count = [](std::uint64_t n) {
    Cell c(report::render_count(static_cast<std::int64_t>(n)));
    c.raw = std::to_string(n);
    return c;
  };
  for (const SheetLine& l : s.buy.lines) {
    const auto by = [&](const std::optional<Time>& at) {
      Cell c(day(at), s.today && at && *at < *s.today ? report::Tone::warn : report::Tone::plain);
      if (!at) c.raw = "";
      return c;
    };
    const BuyTerms& of = terms_of(s, l);
    t.rows.push_back({Cell(l.item), count(l.needed), count(l.spares), money(l.unit_usd), money(l.usd), money(l.usd_low),
                      money(l.usd_high), Cell(weeks(l)), Cell(of.weeks_from), by(l.order_p50), by(l.order_p10),
                      Cell(of.price_from), Cell(fmt::format("{:g}", of.per_year)), Cell(of.per_year_from),
                      Cell(price_source(s, l)), Cell(of.source)});
  }
  return t;
}

std::string late_text(const Sheet& s) {
  if (!s.today) return "";
  std::string out;
  for (const auto& [name, pick] :
       {std::pair{s.ask.need_p10 ? "the day of even odds" : "the day it is needed", &SheetLine::order_p50},
        std::pair{"the day of one in ten", &SheetLine::order_p10}}) {
    std::optional<Time> first;
    std::string item;
    for (const SheetLine& l : s.buy.lines) {
      const std::optional<Time>& t = l.*pick;
      if (!t || (first && *first <= *t)) continue;
      first = t;
      item = l.item;
    }
    if (!first || *first >= *s.today) continue;
    out += fmt::format("Too late for {}: the {} should have been ordered {} before {}.\n", name, item,
                       report::render_span(*s.today - *first), day(s.today));
  }
  return out;
}

// That of a server no spare is kept is no assumption about its failures.
bool none_fail(const BuyTerms& t, std::string BuyTerms::*from) { return from == &BuyTerms::per_year_from && t.per_year == 0; }

// What nobody has said, by name: the figures to ask a supplier for first.
std::string assumed_text(const Sheet& s) {
  constexpr auto kNames = names(BuyItem{});
  std::string out;
  const auto list = [&](const char* what, std::string BuyTerms::*from) {
    std::string items;
    for (std::size_t i = 0; i < s.terms.size(); ++i) {
      const bool there = std::any_of(s.buy.lines.begin(), s.buy.lines.end(),
                                     [&](const SheetLine& l) { return l.terms == static_cast<BuyItem>(i); });
      if (none_fail(s.terms[i], from)) continue;
      if (there && s.terms[i].*from == kAssumed) items += (items.empty() ? "" : ", ") + std::string(kNames[i]);
    }
    if (!items.empty()) out += fmt::format("{}{} of {}", out.empty() ? "" : "; ", what, items);
  };
  list("weeks", &BuyTerms::weeks_from);
  list("spread of prices", &BuyTerms::price_from);
  list("failures", &BuyTerms::per_year_from);
  return out.empty() ? out : fmt::format("Assumed, and to be replaced by what suppliers say (--terms FILE): {}.\n", out);
}

report::Table ends_table(const Sheet& s) {
  report::Table t;
  t.columns = {{"ENDS"}, {"LIMIT"}, {"1 IN 10 BY"}, {"EVEN ODDS BY"}, {"9 IN 10 BY"}};
  for (const RunOutDate& d : s.ends) {
    t.rows.push_back({Cell(d.what), Cell(d.limit), Cell(date_of(s.demand, d.when.p10, s.horizon)),
                      Cell(date_of(s.demand, d.when.p50, s.horizon)), Cell(date_of(s.demand, d.when.p90, s.horizon))});
  }
  return t;
}

std::string render_text(const Sheet& s) {
  std::string out =
      fmt::format("{} of {} GPUs: {} kW, {}\n{}\n\n", report::counted(s.ask.nodes, "node"), s.ask.gpus_per_node,
                  report::render_decimal(s.kw, 1), report::counted(static_cast<std::int64_t>(s.racks), "rack"), s.why);
  out += report::render_table(table_of(s), {true, false, colour_wanted() && stdout_is_terminal()});
  out +=
      fmt::format("\nIn all {}, between {} and {} by the spreads of the items' prices.\n", report::render_money(s.buy.usd, "USD"),
                  report::render_money(s.buy.usd_low, "USD"), report::render_money(s.buy.usd_high, "USD"));
  out += late_text(s);
  if (s.ends.size() > 1) out += "\n" + report::render_table(ends_table(s), {true, false, false}) + "\n";
  out += fmt::format(
      "Order by: the longest lead time and {:g} weeks of installation before the day it is needed, or that of even odds; to be "
      "safe: before that of one in ten.\n"
      "Spares: so many that more fail during the longest lead time with a chance of 5 % at most (Poisson); GPUs and cables for "
      "those that are there too.\n"
      "Network: one of its own, two tiers of 64-port switches without oversubscription, one port a GPU; `muster design fabric` "
      "draws one port by port.\n",
      s.ask.install_weeks);
  out += assumed_text(s);
  return out + fmt::format("GPU price: {}. Sources of each row: -o csv.\n", s.gpu_source);
}

std::string render_json(const Sheet& s) {
  JsonWriter w;
  w.object().field("apiVersion", "v1").field("kind", "ProcurementSheet").field("nodes", s.ask.nodes);
  w.field("gpus_per_node", s.ask.gpus_per_node).field("power_kw", s.kw).field("racks", s.racks).field("dates_from", s.why);
  const auto date = [&](std::string_view key, const std::optional<Time>& t) {
    w.key(key);
    if (t)
      w.value(day(t));
    else
      w.null();
  };
  date("need_by_p50", s.ask.need_p50);
  date("need_by_p10", s.ask.need_p10);
  w.field("usd", s.buy.usd).field("usd_low", s.buy.usd_low).field("usd_high", s.buy.usd_high).key("items").array();
  for (const SheetLine& l : s.buy.lines) {
    w.object().field("item", l.item).field("needed", l.needed).field("spares", l.spares).field("usd_each", l.unit_usd);
    w.field("usd", l.usd).field("usd_low", l.usd_low).field("usd_high", l.usd_high);
    w.field("lead_weeks_low", l.weeks_low).field("lead_weeks_high", l.weeks_high);
    date("order_by_p50", l.order_p50);
    date("order_by_p10", l.order_p10);
    const BuyTerms& of = terms_of(s, l);
    w.field("lead_weeks_from", of.weeks_from).field("price_spread_from", of.price_from);
    w.field("failures_per_year", of.per_year).field("failures_from", of.per_year_from);
    w.field("price_source", price_source(s, l)).field("source", of.source).end_object();
  }
  w.end_array().key("ends").array();
  for (const RunOutDate& d : s.ends) {
    w.object().field("what", d.what).field("limit", d.limit);
    const auto at = [&](const std::optional<std::size_t>& lead) {
      return lead ? std::optional(time_of_lead(s.demand, *lead)) : std::nullopt;
    };
    date("p10_date", at(d.when.p10));
    date("p50_date", at(d.when.p50));
    date("p90_date", at(d.when.p90));
    w.end_object();
  }
  w.end_array().end_object();
  return w.take() + "\n";
}

// The date on which the cluster is full by the forecast of a record, or the one that was given.
Result<void> set_dates(Sheet& s, const CapacityProcureOptions& o) {
  s.today = o.today;
  if (o.trace.empty()) {
    s.ask.need_p50 = o.need_by;
    s.why = o.need_by ? "needed by " + day(o.need_by)
                      : "No date: give --need-by, or --trace and --gpus for the day the cluster is full.";
    return {};
  }
  if (o.limits.gpus == 0) return fail(Code::bad_input, "--trace tells of demand, not of the cluster", "add --gpus");
  const auto trace = load_capacity_trace(o.trace);
  if (!trace) return tl::unexpected(trace.error());
  s.demand = predict::demand_days(trace->trace.jobs);
  const predict::DemandDays& demand = s.demand;
  if (demand.gpu_hours.size() < predict::kForecastDaysMin) {
    return fail(Code::bad_input, o.trace + ": too few whole days for a forecast", "give a longer record, or --need-by");
  }
  warn_of_units(demand, o.limits.gpus);
  constexpr std::array<std::size_t, 3> kHorizons = {7, 14, 28};
  const auto method = predict::score_forecasts(demand.gpu_hours, kHorizons).shown;
  const auto horizon = static_cast<std::size_t>(o.horizon_days);
  s.horizon = horizon;
  s.ends = run_out_dates(demand, method, o.limits, horizon, o.growth);
  const auto& dates = s.ends;
  const predict::RunOut& when = dates.front().when;
  if (when.p50) s.ask.need_p50 = time_of_lead(demand, *when.p50);
  if (when.p10) s.ask.need_p10 = time_of_lead(demand, *when.p10);
  if (!s.today) s.today = predict::day_start(demand, demand.gpu_hours.size());
  s.why = fmt::format("{}: even odds {}, one in ten {} (from {}, {})", dates.front().limit, date_of(demand, when.p50, horizon),
                      date_of(demand, when.p10, horizon), o.trace,
                      names(predict::ForecastMethod{})[static_cast<std::size_t>(method)]);
  if (o.growth != 0) s.why += fmt::format(", and {:+g} % a year", 100 * o.growth);
  return {};
}

Result<Sheet> sheet_of(const CapacityProcureOptions& o) {
  Sheet s;
  HardwarePrices prices = hardware_prices();
  s.terms = procurement_terms();
  if (!o.prices.empty()) {
    const auto text = read_file(o.prices);
    if (!text) return tl::unexpected(text.error());
    auto read = parse_hardware_prices(*text, o.prices);
    if (!read) return tl::unexpected(read.error());
    prices = std::move(*read);
  }
  if (!o.terms.empty()) {
    const auto text = read_file(o.terms);
    if (!text) return tl::unexpected(text.error());
    auto read = parse_procurement(*text, o.terms);
    if (!read) return tl::unexpected(read.error());
    s.terms = std::move(*read);
  }
  const auto gpu = prices.gpu.find(o.gpu);
  if (gpu == prices.gpu.end()) {
    return fail(Code::bad_input, fmt::format("no price of a {} is known", o.gpu),
                "give a row \"gpu " + o.gpu + "\" with --prices");
  }
  const auto source = prices.sources.find("gpu " + o.gpu);
  s.gpu_source = source == prices.sources.end() ? std::string("of --prices") : source->second;
  s.price_sources = prices.sources;
  s.ask.nodes = o.nodes_add;
  s.ask.gpus_per_node = o.limits.gpus_per_node;
  s.ask.gpus_now = o.limits.gpus;
  s.ask.gpu_usd = gpu->second;
  s.ask.switch_usd = prices.switch_usd;
  s.ask.cable_usd = prices.active_cable;
  s.ask.fibre_usd = prices.fibre;
  s.ask.transceiver_usd = prices.transceiver;
  s.ask.install_weeks = o.install_weeks;
  s.kw = o.nodes_add * o.limits.node_kw();
  s.racks = (o.nodes_add + o.limits.nodes_per_rack - 1) / o.limits.nodes_per_rack;
  if (auto ok = set_dates(s, o); !ok) return tl::unexpected(ok.error());
  s.buy = predict::plan_purchase(s.ask, s.terms);
  return s;
}

// Exit 6: what there is does not hold what is to be bought, or it is too late to order.
int findings(const Sheet& s, const CapacityProcureOptions& o) {
  int code = 0;
  if (o.limits.racks_free && s.racks > *o.limits.racks_free) {
    say(fmt::format("racks needed: {}, free: {}", s.racks, *o.limits.racks_free));
    code = 6;
  }
  if (o.limits.kw_free && s.kw > *o.limits.kw_free) {
    say(fmt::format("kW needed: {:g}, free: {:g}", s.kw, *o.limits.kw_free));
    code = 6;
  }
  for (const SheetLine& l : s.buy.lines) {
    if (s.today && l.order_p50 && *l.order_p50 < *s.today) code = 6;
  }
  return code;
}

}  // namespace

int run_capacity_procure(const CapacityProcureOptions& o) {
  const auto sheet = sheet_of(o);
  if (!sheet) return say_error(sheet.error());
  if (o.format == report::Format::json) put(render_json(*sheet));
  if (o.format == report::Format::csv) put(report::render_csv(table_of(*sheet), true));
  if (o.format == report::Format::table) put(render_text(*sheet));
  const int code = findings(*sheet, o);
  const int out = finish_output();
  return out != 0 ? out : code;
}

}  // namespace muster::cmd
