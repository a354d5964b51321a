#include "report/energy_notes.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "report/units.h"

namespace muster::report {
namespace {

constexpr double kMjPerKwh = 3.6e9;
constexpr double kSmall_kwh = 1e-6;

std::string month_of(std::int32_t key) { return fmt::format("{}-{:02}", key / 12, key % 12 + 1); }

std::string kwh(double v) { return render_decimal(v, std::abs(v) < 10 ? 3 : std::abs(v) < 1000 ? 1 : 0) + " kWh"; }

void of_agreement(const account::EnergyBooks& books, std::vector<std::string>& out) {
  std::size_t refused = 0;
  const account::Agreement* one = nullptr;
  for (const account::Agreement& a : books.agreements) {
    if (!a.counter_refused) continue;
    ++refused;
    if (one == nullptr) one = &a;
  }
  if (one != nullptr)
    out.push_back(
        fmt::format("the energy counter of {} is not believed, and samples of power were taken: of {} on {} it says {} kJ "
                    "where samples say {} kJ (another unit?)",
                    counted(static_cast<std::int64_t>(refused), "GPU"), one->gpu, one->node,
                    render_decimal(one->counter_j / 1e3, 1), render_decimal(one->sampled_j / 1e3, 1)));
  if (const auto d = disagreement(books))
    out.push_back(fmt::format("samples of power add up to {:+.2f} % against the energy counters, over {}", 100 * *d,
                              counted(static_cast<std::int64_t>(books.agreements.size() - refused), "GPU")));
}

void of_meters(const EnergyReport& r, std::vector<std::string>& out) {
  const account::CurveNotes& n = r.books.notes;
  if (n.gaps > 0) {
    out.push_back(fmt::format(
        "{} between readings, {} of GPUs' time in all, the longest {} from {}{}",
        counted(static_cast<std::int64_t>(n.gaps), "gap"), render_span(n.gap_time), render_span(n.longest_gap),
        render_utc(n.longest_gap_at),
        n.gaps_counted == n.gaps
            ? ": a counter went on over all of them, so only the hours within them are not known"
            : fmt::format("; a counter went on over {} of them, the others are estimated or left out", n.gaps_counted)));
  }
  if (n.resets > 0)
    out.push_back(
        fmt::format("{} of an energy counter (driver loaded anew, GPU reset, reboot): samples of power stand in there, or an "
                    "estimate where there are none",
                    counted(static_cast<std::int64_t>(n.resets), "reset")));
  if (n.wraps > 0) out.push_back(fmt::format("a counter passed 2^32 mJ {} times, and was taken to go on", n.wraps));
  if (n.jumps > 0)
    out.push_back(fmt::format(
        "counters moved {} times as no GPU can draw (joules where millijoules are meant?): not believed there", n.jumps));
  if (n.stood_still > 0)
    out.push_back(fmt::format(
        "{} a counter said less than half, or more than twice, of what samples of power said: the samples were believed",
        n.stood_still == 1 ? "once" : fmt::format("{} times", n.stood_still)));
  of_agreement(r.books, out);
  if (r.books.clashes > 0) out.push_back("some GPUs had more than one holder at a time: they share its energy in equal parts");
  if (r.books.node_meters_low > 0)
    out.push_back(fmt::format("{} quarters of an hour a node's meter said less than its GPUs': its host counts as 0 there",
                              r.books.node_meters_low));
}

void of_estimates(const EnergyReport& r, const EnergyRow& all, std::vector<std::string>& out) {
  if (all.estimate_mj > 0) {
    out.push_back(fmt::format(
        "{} of the GPUs' energy is estimated by the model of GPU, without any measurement: if they had idled {}, at their "
        "limit {}",
        kwh(static_cast<double>(all.estimate_mj) / kMjPerKwh), kwh(all.estimate_low_mj / kMjPerKwh),
        kwh(all.estimate_high_mj / kMjPerKwh)));
  }
  for (const std::string& g : r.books.unknown_gpus)
    out.push_back(fmt::format(
        "GPUs of the type {} were not measured, and what they draw is not known: their {} GPU-hours are in no sum; --gpu NAME, "
        "or --watts FILE",
        "'" + printable(g) + "'", render_decimal(static_cast<double>(all.unknown_ms) / 3.6e6, 1)));
  if (all.apportioned_mj > 0)
    out.push_back(fmt::format("{} were measured on nodes where it is not known who had which GPU: split by the number of GPUs",
                              kwh(static_cast<double>(all.apportioned_mj) / kMjPerKwh)));
  std::size_t refused = 0;
  std::string one;
  for (std::size_t i = 0; i < r.runs.size(); ++i) {
    if (r.books.runs[i].engine_refused.empty()) continue;
    if (refused++ == 0) one = fmt::format("job {}: {}", r.runs[i].job, r.books.runs[i].engine_refused);
  }
  if (refused > 0)
    out.push_back(
        fmt::format("Slurm's energy was not believed for {} ({})", counted(static_cast<std::int64_t>(refused), "run"), one));
}

// Which jobs have tokens: a figure a token of a group is of those alone.
void of_tokens(const EnergyReport& r, const EnergyRow& all, std::vector<std::string>& out) {
  if (all.tokens <= 0) return;
  std::map<std::string_view, bool> told;
  for (const GpuHold& h : r.runs) told[h.job] = told[h.job] || h.tokens.has_value();
  std::vector<std::string> missing;
  for (const auto& [job, is] : told) {
    if (!is) missing.emplace_back(job);
  }
  if (missing.empty()) return;
  constexpr std::size_t kNamed = 5;
  const std::size_t jobs = missing.size();
  if (jobs > kNamed) missing.resize(kNamed);
  out.push_back(
      fmt::format("tokens are missing of {} of {} (job {}{}), which took {} at the site's meter: no figure a token has them",
                  jobs, counted(static_cast<std::int64_t>(told.size()), "job"), join(missing, ", "), jobs > kNamed ? ", ..." : "",
                  kwh(all.untold_kwh)));
}

void of_money(const EnergyReport& r, const EnergyRow& all, std::vector<std::string>& out) {
  const auto& t = r.rates.tariff;
  if (t) {
    out.push_back(fmt::format("tariff: {}{}{}, hours by {}", t->synthetic ? "MADE UP, no supplier's: " : "",
                              t->name.empty() ? "without a name" : t->name,
                              t->date.empty() ? ", without a date" : " of " + t->date, t->zone));
  }
  for (const account::DemandPeak& p : r.bills.peaks) {
    out.push_back(fmt::format(
        "demand {}{}: highest quarter of an hour {} kW at {}{}, {} {}/kW and month{}", month_of(p.month),
        p.rule.empty() ? "" : " (" + p.rule + ")", render_decimal(p.kw, 1), render_utc(p.at),
        p.billed_kw > p.kw ? fmt::format(", charged for {} kW by the ratchet", render_decimal(p.billed_kw, 1)) : std::string(),
        render_decimal(p.price, 2), r.currency,
        p.seen < 0.9 ? fmt::format("; {} of that month is in here, and that part of the charge", render_percent(p.seen))
                     : std::string()));
  }
  if (r.bills.has_money && all.bill.unpriced_kwh > kSmall_kwh)
    out.push_back(fmt::format("{} lie in hours without a price, and cost nothing here", kwh(all.bill.unpriced_kwh)));
  if (r.bills.has_carbon && all.bill.unknown_carbon_kwh > kSmall_kwh)
    out.push_back(
        fmt::format("{} lie in hours without a carbon intensity, and emit nothing here", kwh(all.bill.unknown_carbon_kwh)));
}

}  // namespace

std::optional<double> disagreement(const account::EnergyBooks& books) {
  double counter = 0, sampled = 0;
  for (const account::Agreement& a : books.agreements) {
    if (a.counter_refused) continue;
    counter += a.counter_j;
    sampled += a.sampled_j;
  }
  return counter > 0 ? std::optional(sampled / counter - 1) : std::nullopt;
}

std::vector<std::string> energy_notes(const EnergyReport& r, const EnergyRow& all) {
  std::vector<std::string> out = r.notes;
  of_estimates(r, all, out);
  of_meters(r, out);
  of_tokens(r, all, out);
  of_money(r, all, out);
  return out;
}

void write_energy_details(JsonWriter& w, const EnergyReport& r) {
  const account::CurveNotes& n = r.books.notes;
  w.key("demand_peaks").array();
  for (const account::DemandPeak& p : r.bills.peaks) {
    w.object().field("month", month_of(p.month)).field("rule", p.rule).field("at_utc", render_utc(p.at)).field("power_kw", p.kw);
    w.field("billed_kw", p.billed_kw);
    w.field("price_per_kw_month", p.price)
        .field("charge", p.charge)
        .field("month_seen_share", p.seen)
        .field("nobody_share", p.nobody_share);
    w.end_object();
  }
  w.end_array()
      .key("meters")
      .object()
      .field("gaps", n.gaps)
      .field("gaps_counted", n.gaps_counted)
      .field("gap_s", n.gap_time.seconds());
  w.field("resets", n.resets).field("wraps", n.wraps).field("jumps", n.jumps).field("stood_still", n.stood_still);
  w.field("usual_interval_s", n.usual.seconds()).end_object();
  w.key("agreement").array();
  for (const account::Agreement& a : r.books.agreements) {
    w.object().field("node", a.node).field("gpu", a.gpu).field("counter_j", a.counter_j).field("sampled_j", a.sampled_j);
    w.field("over_s", a.over.seconds())
        .field("difference_pct", a.counter_j > 0 ? 100 * (a.sampled_j / a.counter_j - 1) : std::nan(""))
        .field("counter_refused", a.counter_refused);
    w.end_object();
  }
  w.end_array();
}

}  // namespace muster::report
