// The plan of a network in figures: as tables for people and as a document for programs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json_writer.h"
#include "base/text.h"
#include "model/fields.h"
#include "report/fabric_files.h"
#include "report/ib_net.h"
#include "report/units.h"

namespace muster::report {
namespace {

using design::FabricPlan;
using design::Medium;
using design::PlanStep;

double rounded(double n) { return std::round(1000 * n) / 1000; }

void put_switches(JsonWriter& w, const PlanStep& s) {
  w.key("switches").object();
  w.field("leaves", s.switches[0]).field("spines", s.switches[1]).field("cores", s.switches[2]);
  w.end_object();
}

void put_step(JsonWriter& w, const PlanStep& s, std::size_t roots) {
  w.object().field("nodes", s.nodes).field("endpoints", s.endpoints);
  put_switches(w, s);
  w.key("cables").object();
  for (std::size_t m = 0; m < s.cables.size(); ++m) w.field(names(Medium{})[m], s.cables[m]);
  w.end_object();
  w.field("transceivers", s.transceivers).field("network_kw", rounded(s.network_kw)).field("shift_share", s.shift_share);
  w.field("root_switches", static_cast<std::uint64_t>(roots));
  w.key("adds").object();
  w.field("nodes", s.added.nodes).field("switches", s.added.switches).field("cables", s.added.cables).field("usd", s.usd);
  w.key("bill").array();
  for (const design::BillLine& b : s.bill) {
    w.object().field("item", b.item).field("count", b.count).field("usd_each", b.usd_each);
    w.field("usd", static_cast<double>(b.count) * b.usd_each).field("source", b.source).end_object();
  }
  w.end_array().end_object();
  w.key("for_this_size_alone").object();
  w.field("switches", s.alone_switches).field("cables_moved_by_the_next_step", s.alone_moved).end_object();
  w.end_object();
}

Cell number(double n, std::string text) {
  Cell c(std::move(text));
  c.raw = render_number(rounded(n));  // plain digits: 2461000, and not 2.461e+06
  c.key = n;
  return c;
}
Cell counted(std::uint64_t n) { return number(static_cast<double>(n), render_count(static_cast<std::int64_t>(n))); }

}  // namespace

std::string render_fabric_summary(const FabricPlan& plan) {
  const design::FabricAsk& a = plan.ask.fabric;
  const PlanStep& now = plan.steps.front();
  std::uint32_t levels = 0;
  for (const std::uint8_t t : plan.tiers) levels = std::max<std::uint32_t>(levels, t);
  JsonWriter w;
  w.object();
  w.field("kind", name_of(a.kind)).field("nodes", now.nodes).field("nics", a.nics).field("radix", a.radix);
  w.field("levels", levels).field("oversubscription", a.oversubscription).field("gbit_s", a.gb_s * 8);
  w.field("rate", say_ib_rate(a.gb_s)).field("endpoints", now.endpoints).field("shift_share", now.shift_share);
  put_switches(w, now);
  w.field("usd", now.usd).field("network_kw", rounded(now.network_kw));
  w.key("floor").object();
  w.field("racks", plan.floor.racks).field("rows", plan.floor.rows).field("nodes_per_rack", plan.ask.floor.nodes_per_rack);
  w.end_object();
  w.key("steps").array();
  for (std::size_t k = 0; k < plan.steps.size(); ++k) put_step(w, plan.steps[k], roots_at(plan, k).size());
  w.end_array();
  w.key("notes").array();
  for (const std::string& n : plan.notes) w.value(n);
  w.end_array().end_object();
  return w.take() + "\n";
}

Table fabric_plan_table(const FabricPlan& plan) {
  Table t;
  t.columns = {{"STEP"},
               {"NODES", true},
               {"CARDS", true},
               {"LEAVES", true},
               {"SPINES", true},
               {"CORES", true},
               {"DAC", true},
               {"AEC", true},
               {"AOC", true},
               {"OPTIC", true},
               {"KW", true},
               {"SHIFTS", true},
               {"ADDS SWITCHES", true, false, false, "adds_switches"},
               {"CABLES", true, false, false, "adds_cables"},
               {"USD", true, false, false, "adds_usd"}};
  for (std::size_t k = 0; k < plan.steps.size(); ++k) {
    const PlanStep& s = plan.steps[k];
    std::vector<Cell> row = {Cell(k == 0 ? "now" : fmt::format("grow-{}", s.nodes)), counted(s.nodes), counted(s.endpoints)};
    for (const std::uint32_t n : s.switches) row.push_back(counted(n));
    for (const std::uint32_t n : s.cables) row.push_back(counted(n));
    row.push_back(number(s.network_kw, render_decimal(s.network_kw, 1)));
    row.push_back(number(s.shift_share, render_percent(s.shift_share)));
    row.push_back(counted(s.added.switches));
    row.push_back(counted(s.added.cables));
    row.push_back(number(s.usd, render_decimal(s.usd, 0)));
    t.rows.push_back(std::move(row));
  }
  return t;
}

Table fabric_bill_table(const FabricPlan& plan) {
  Table t;
  t.columns = {{"STEP"}, {"ITEM"}, {"COUNT", true}, {"EACH", true}, {"USD", true}, {"PRICE FROM", false, false, false, "source"}};
  for (std::size_t k = 0; k < plan.steps.size(); ++k) {
    for (const design::BillLine& b : plan.steps[k].bill) {
      const double usd = static_cast<double>(b.count) * b.usd_each;
      t.rows.push_back({Cell(k == 0 ? "now" : fmt::format("grow-{}", plan.steps[k].nodes)), Cell(b.item), counted(b.count),
                        number(b.usd_each, render_decimal(b.usd_each, 0)), number(usd, render_decimal(usd, 0)), Cell(b.source)});
    }
  }
  return t;
}

}  // namespace muster::report
