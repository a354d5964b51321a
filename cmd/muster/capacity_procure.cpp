// muster capacity procure: what an addition of nodes takes to buy, until when it has to be ordered, and what it costs.
#include <fmt/core.h>

#include <cmath>

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
  double kw = 0;
  std::uint64_t racks = 0;
};

std::string day(const std::optional<Time>& t) { return t ? render_utc(*t).substr(0, 10) : std::string("-"); }

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
               {.name = "ORDER BY", .csv = "order_by_p50"},
               {.name = "TO BE SAFE", .csv = "order_by_p10"},
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
    const auto late = [&](const std::optional<Time>& by) { return s.today && by && *by < *s.today; };
    t.rows.push_back({Cell(l.item), count(l.needed), count(l.spares), money(l.unit_usd), money(l.usd), money(l.usd_low),
                      money(l.usd_high), Cell(weeks(l)),
                      Cell(day(l.order_p50), late(l.order_p50) ? report::Tone::warn : report::Tone::plain),
                      Cell(day(l.order_p10), late(l.order_p10) ? report::Tone::warn : report::Tone::plain),
                      Cell(s.terms[static_cast<std::size_t>(l.terms)].source)});
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

std::string render_text(const Sheet& s) {
  std::string out =
      fmt::format("{} of {} GPUs: {} kW, {}\n{}\n\n", report::counted(s.ask.nodes, "node"), s.ask.gpus_per_node,
                  report::render_decimal(s.kw, 1), report::counted(static_cast<std::int64_t>(s.racks), "rack"), s.why);
  out += report::render_table(table_of(s), {true, false, colour_wanted() && stdout_is_terminal()});
  out +=
      fmt::format("\nIn all {}, between {} and {} by the spreads of the items' prices.\n", report::render_money(s.buy.usd, "USD"),
                  report::render_money(s.buy.usd_low, "USD"), report::render_money(s.buy.usd_high, "USD"));
  out += late_text(s);
  out += fmt::format(
      "Order by: the longest lead time and {:g} weeks of installation before the day it is needed, or that of even odds; to be "
      "safe: before that of one in ten.\n"
      "Spares: so many that more fail during the longest lead time with a chance of 5 % at most (Poisson); GPUs and cables for "
      "those that are there too.\n"
      "Network: one of its own, two tiers of 64-port switches without oversubscription, one port a GPU; `muster design fabric` "
      "draws one port by port.\n",
      s.ask.install_weeks);
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
    w.field("source", s.terms[static_cast<std::size_t>(l.terms)].source).end_object();
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
  const predict::DemandDays demand = predict::demand_days(trace->trace.jobs);
  if (demand.gpu_hours.size() < predict::kForecastDaysMin) {
    return fail(Code::bad_input, o.trace + ": too few whole days for a forecast", "give a longer record, or --need-by");
  }
  constexpr std::array<std::size_t, 3> kHorizons = {7, 14, 28};
  const auto method = predict::score_forecasts(demand.gpu_hours, kHorizons).shown;
  const auto horizon = static_cast<std::size_t>(o.horizon_days);
  CapacityLimits only = o.limits;
  only.racks_free.reset();
  only.kw_free.reset();
  only.quota_gpu_hours.reset();
  const auto dates = run_out_dates(demand, method, only, horizon, o.growth);
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
  s.ask.nodes = o.nodes_add;
  s.ask.gpus_per_node = o.limits.gpus_per_node;
  s.ask.gpus_now = o.limits.gpus;
  s.ask.gpu_usd = gpu->second;
  s.ask.switch_usd = prices.switch_usd;
  s.ask.cable_usd = prices.active_cable;
  s.ask.fibre_usd = prices.fibre;
  s.ask.transceiver_usd = prices.transceiver;
  s.ask.install_weeks = o.install_weeks;
  s.kw = o.nodes_add * o.limits.kw_per_node;
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
