#include "report/site_account.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/json_writer.h"
#include "base/text.h"
#include "report/units.h"

namespace muster::report {
namespace {

using account::gpu_hours;
using account::SiteBy;
using account::SiteClass;
using account::SiteRow;
using account::SiteSum;

constexpr std::size_t kClasses = account::kSiteClasses;
constexpr std::size_t kBarCells = 24;
// Classes that only a journal tells of.
bool of_journals(SiteClass c) {
  return c == SiteClass::starting || c == SiteClass::checkpoint || c == SiteClass::lost_restart || c == SiteClass::stalled ||
         c == SiteClass::unsettled;
}

std::string name_of(SiteClass c) { return std::string(names(SiteClass{})[static_cast<std::size_t>(c)]); }
std::string_view word_of(SiteBy by) { return names(SiteBy{})[static_cast<std::size_t>(by)]; }

std::string row_name(const SiteRow& r) { return r.no_job ? "(no job)" : r.name.empty() ? "(none)" : r.name; }

Cell hours_cell(double h) {
  Cell c(h == 0 ? "-" : render_decimal(h, 1));
  c.raw = render_number(h);
  c.key = h;
  return c;
}

std::string bar(double share) {
  const double cells = std::clamp(share, 0.0, 1.0) * kBarCells;
  const auto full = static_cast<std::size_t>(cells);
  constexpr std::string_view kPart[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  std::string out;
  for (std::size_t i = 0; i < full; ++i) out += "█";
  const auto part = static_cast<std::size_t>((cells - static_cast<double>(full)) * 8);
  out += kPart[part];
  return out.empty() && share > 0 ? "▏" : out;
}

std::optional<double> efficiency_of(const SiteSum& s) {
  const double e = s.efficiency();
  return e < 0 ? std::nullopt : std::optional(e);
}

double share_of(const SiteSum& s, const SiteSum& all) {
  return all.installed() == 0 ? 0 : static_cast<double>(s.installed()) / static_cast<double>(all.installed());
}

Table waterfall(const SiteView& v, const std::optional<SiteRates>& rates) {
  const SiteSum& s = v.account->sum;
  const double installed = gpu_hours(s.installed());
  Table t;
  t.columns = {{"CLASS"}, {"GPU-HOURS", true}, {"SHARE", true}};
  if (rates) t.columns.push_back({"COST " + v.price.currency, true});
  t.columns.push_back({""});
  const auto add = [&](std::string name, double h) {
    const double share = installed > 0 ? h / installed : 0;
    std::vector<Cell> row = {Cell(std::move(name)), hours_cell(h), Cell(render_percent(share))};
    if (rates) row.emplace_back(render_decimal(rates->cost * share, 0));
    row.emplace_back(bar(share));
    t.rows.push_back(std::move(row));
  };
  add("installed", installed);
  for (std::size_t i = 0; i < kClasses; ++i) {
    const auto c = static_cast<SiteClass>(i);
    if (!of_journals(c) || s[c] != 0) add("  " + name_of(c), gpu_hours(s[c]));
  }
  return t;
}

Table rows_table(const SiteView& v, const std::vector<SiteRow>& rows, const std::optional<SiteRates>& rates, std::size_t limit) {
  Table t;
  t.columns = {{upper(word_of(v.by))}, {"RUNS", true}, {"GPU-HOURS", true}, {"SHARE", true}};
  const bool sited = v.by == SiteBy::gpu_type || v.by == SiteBy::day;  // what no job had is in their rows
  std::vector<SiteClass> shown;
  for (std::size_t i = 0; i < kClasses; ++i) {
    const auto c = static_cast<SiteClass>(i);
    if (of_journals(c) || (!sited && c < account::kFirstAllocated)) continue;
    shown.push_back(c);
    t.columns.push_back({upper(name_of(c)), true});
  }
  t.columns.push_back({"EFFICIENCY", true});
  if (rates) t.columns.push_back({"COST " + v.price.currency, true});
  for (const SiteRow& r : rows) {
    if (t.rows.size() >= limit && !r.no_job) continue;
    std::vector<Cell> row = {Cell(row_name(r)), Cell(r.runs == 0 ? "-" : render_count(static_cast<std::int64_t>(r.runs))),
                             hours_cell(gpu_hours(r.sum.installed())), Cell(render_percent(share_of(r.sum, v.account->sum)))};
    for (const SiteClass c : shown) row.push_back(hours_cell(gpu_hours(r.sum[c])));
    row.emplace_back(render_percent(efficiency_of(r.sum)));
    if (rates) row.emplace_back(render_decimal(rates->cost * share_of(r.sum, v.account->sum), 0));
    t.rows.push_back(std::move(row));
  }
  return t;
}

std::string rates_text(const SiteView& v, const SiteRates& r) {
  const auto rate = [&](std::optional<double> x) { return x ? render_decimal(*x, 3) : std::string("-"); };
  return fmt::format("Cost of this time: {}. Per GPU-hour owned {}, delivered {}, allocated {}, useful {} {}.\n",
                     render_money(r.cost, v.price.currency), rate(r.owned), rate(r.delivered), rate(r.allocated), rate(r.useful),
                     v.price.currency);
}

std::string efficiency_text(const SiteView& v) {
  const auto e = efficiency_of(v.account->sum);
  if (!e) return fmt::format("GPU-hour efficiency: not known (target {}).\n", render_percent(v.target));
  const account::Streak s = streak_of(v.account->days, v.target);
  return fmt::format("GPU-hour efficiency: {} (target {}); {} of {} at or above it, the last {} in a row.\n", render_percent(*e),
                     render_percent(v.target), s.reached, counted(s.complete, "complete day"), s.days);
}

void write_sum(JsonWriter& w, const SiteSum& s) {
  w.field("gpu_hours", gpu_hours(s.installed()));
  w.key("classes_gpu_hours").object();
  for (std::size_t i = 0; i < kClasses; ++i) w.field(names(SiteClass{})[i], gpu_hours(s.milli_ms[i]));
  w.end_object().key("efficiency");
  const auto e = efficiency_of(s);
  e ? w.value(*e) : w.null();
}

void write_rates(JsonWriter& w, const SiteView& v, const std::optional<SiteRates>& r) {
  w.key("rates");
  if (!r) {
    w.null();
    return;
  }
  const auto put = [&](const char* key, std::optional<double> x) {
    w.key(key);
    x ? w.value(*x) : w.null();
  };
  w.object().field("currency", v.price.currency).field("cost", r->cost);
  put("owned_per_gpu_hour", r->owned);
  put("delivered_per_gpu_hour", r->delivered);
  put("allocated_per_gpu_hour", r->allocated);
  put("useful_per_gpu_hour", r->useful);
  w.end_object();
}

void write_faults(JsonWriter& w, const account::SiteAccount& a) {
  w.key("faults").array();
  for (std::size_t i = 0; i < account::kSiteFaults; ++i) {
    const account::FaultSum& f = a.faults[i];
    if (f.count == 0) continue;
    w.object().field("kind", names(account::SiteFault{})[i]).field("count", f.count).field("gpu_hours", gpu_hours(f.milli_ms));
    w.field("node_hours", static_cast<double>(f.node_ms) / 3.6e6).key("some").array();
    for (const std::string& s : f.some) w.value(s);
    w.end_array().end_object();
  }
  w.end_array();
}

}  // namespace

std::optional<SiteRates> rates_of(const SiteSum& sum, const SitePrice& price, Time from, Time to) {
  if (!price.gpu_hour && !price.year) return std::nullopt;
  SiteRates r;
  r.cost =
      price.gpu_hour ? *price.gpu_hour * gpu_hours(sum.installed()) : *price.year * ((to - from).seconds() / days(365).seconds());
  const auto per = [&](std::int64_t milli_ms) {
    return milli_ms <= 0 ? std::nullopt : std::optional(r.cost / gpu_hours(milli_ms));
  };
  r.owned = per(sum.installed());
  r.delivered = per(sum.delivered());
  r.allocated = per(sum.allocated());
  r.useful = per(sum[SiteClass::useful]);
  return r;
}

std::string site_account_text(const SiteView& v, const Page& page) {
  const account::SiteAccount& a = *v.account;
  const auto rates = rates_of(a.sum, v.price, a.from, a.to);
  const TableStyle style{true, false, page.colour};
  std::string out = fmt::format("{}{} to {}: {} GPUs on {}{}, {} GPU-hours installed.\n\n",
                                v.cluster.empty() ? "" : printable(v.cluster) + ", ", render_utc(a.from), render_utc(a.to),
                                render_decimal(static_cast<double>(a.gpus_milli) / 1000, a.gpus_milli % 1000 == 0 ? 0 : 3),
                                counted(static_cast<std::int64_t>(a.nodes), "node"), a.nodes_shown ? " (as jobs show)" : "",
                                render_decimal(gpu_hours(a.sum.installed()), 1));
  out += render_table(waterfall(v, rates), style) + "\n";
  if (rates) out += rates_text(v, *rates);
  out += efficiency_text(v) + "\n";
  const auto rows = rows_of(*v.runs, a, v.by);
  const Table t = rows_table(v, rows, rates, v.limit);
  out += render_table(t, style);
  if (t.rows.size() < rows.size())
    out += fmt::format("The first {} of {}; --limit, `-o csv` and `-o json` show more.\n", v.limit, rows.size());
  const auto notes = site_account_notes(v);
  if (!notes.empty()) out += "\nWhat cannot be seen, and what is odd:\n";
  for (const std::string& n : notes) out += "- " + wrap(n, page.width - 2, 2) + "\n";
  return out;
}

std::string site_account_csv(const SiteView& v) {
  const account::SiteAccount& a = *v.account;
  const auto rates = rates_of(a.sum, v.price, a.from, a.to);
  Table t;
  t.columns = {{upper(word_of(v.by))}, {"RUNS", true}, {"GPU_HOURS", true}};
  for (const auto c : names(SiteClass{})) t.columns.push_back({upper(c) + "_GPU_HOURS", true});
  t.columns.push_back({"EFFICIENCY", true});
  t.columns.push_back({"ENERGY_KWH", true});
  if (rates) t.columns.push_back({"COST_" + upper(v.price.currency), true});
  for (const SiteRow& r : rows_of(*v.runs, a, v.by)) {
    std::vector<Cell> row = {Cell(row_name(r)), Cell(std::to_string(r.runs)), Cell(render_number(gpu_hours(r.sum.installed())))};
    for (const std::int64_t x : r.sum.milli_ms) row.emplace_back(render_number(gpu_hours(x)));
    const auto e = efficiency_of(r.sum);
    row.emplace_back(e ? render_number(*e) : "");
    row.emplace_back(r.energy_runs == 0 ? "" : render_number(r.energy_j / 3.6e6));
    if (rates) row.emplace_back(render_number(rates->cost * share_of(r.sum, a.sum)));
    t.rows.push_back(std::move(row));
  }
  return render_csv(t, true);
}

std::string site_account_json(const SiteView& v) {
  const account::SiteAccount& a = *v.account;
  const auto rates = rates_of(a.sum, v.price, a.from, a.to);
  JsonWriter w;
  w.object().field("apiVersion", "v1").field("kind", "SiteAccount").field("cluster", v.cluster);
  w.field("from_utc", render_utc(a.from)).field("to_utc", render_utc(a.to)).field("zone", v.zone);
  w.field("nodes", a.nodes).field("gpus", static_cast<double>(a.gpus_milli) / 1000).field("installed_from_jobs", a.nodes_shown);
  w.field("activity_metric", v.metric).field("runs", a.runs);
  w.field("installed_milli_gpu_ms", a.sum.installed()).key("classes_milli_gpu_ms").object();
  for (std::size_t i = 0; i < kClasses; ++i) w.field(names(SiteClass{})[i], a.sum.milli_ms[i]);
  w.end_object();
  write_sum(w, a.sum);
  const account::Streak s = streak_of(a.days, v.target);
  w.field("efficiency_target", v.target).key("streak").object().field("days", s.days).field("longest_days", s.longest);
  w.field("complete_days", s.complete).field("days_reached", s.reached).end_object();
  write_rates(w, v, rates);
  w.field("by", word_of(v.by)).key("rows").array();
  for (const SiteRow& r : rows_of(*v.runs, a, v.by)) {
    w.object().field("name", r.name).field("no_job", r.no_job).field("runs", r.runs);
    write_sum(w, r.sum);
    w.key("energy_kwh");
    r.energy_runs > 0 ? w.value(r.energy_j / 3.6e6) : w.null();
    w.field("energy_runs", r.energy_runs);
    if (rates) w.field("cost", rates->cost * share_of(r.sum, a.sum));
    w.end_object();
  }
  w.end_array().key("days").array();
  for (const account::DaySum& d : a.days) {
    w.object().field("from_utc", render_utc(d.from)).field("to_utc", render_utc(d.to)).field("whole", d.whole);
    write_sum(w, d.sum);
    w.end_object();
  }
  w.end_array().key("states").array();
  for (std::size_t i = 0; i < a.states.size(); ++i) {
    if (a.states[i].runs == 0) continue;
    w.object()
        .field("state", names(RecordState{})[i])
        .field("runs", a.states[i].runs)
        .field("gpu_hours", gpu_hours(a.states[i].milli_ms))
        .end_object();
  }
  w.end_array();
  write_faults(w, a);
  w.key("notes").array();
  for (const std::string& n : site_account_notes(v)) w.value(n);
  w.end_array().end_object();
  return w.take();
}

}  // namespace muster::report
