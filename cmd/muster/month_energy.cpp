// The energy of a month, from readings of power or estimated from the records of jobs; and the outlook that `muster capacity`
// gave.
#include <fmt/core.h>

#include "energy_read.h"
#include "files.h"
#include "ingest/json.h"
#include "month_gather.h"
#include "report/units.h"

namespace muster::cmd {
namespace {

constexpr std::size_t kOwnersTold = 12;

// What is not measured is a line drawn between readings far apart, or what that model of GPU usually draws: two things.
std::string how_known(const report::EnergyRow& all) {
  const double measured = all.measured(), gpu_mj = all.gpu_kwh() * 3.6e9;
  if (measured < 0 || gpu_mj <= 0) return "no energy of a GPU is known";
  const double model = std::min(1.0, static_cast<double>(all.estimate_mj) / gpu_mj);
  const double between = std::max(0.0, 1 - measured - model);
  constexpr double kSaid = 0.0005;
  if (model > 1 - kSaid) return "no energy was measured: it is estimated from what that model of GPU usually draws";
  std::string out = fmt::format("{} of the GPUs' energy was measured", report::render_percent(measured));
  if (between > kSaid)
    out += fmt::format(", {} is a straight line between readings too far apart to count as measured (--gap)",
                       report::render_percent(between));
  if (model > kSaid) out += fmt::format(", {} is estimated from what their model usually draws", report::render_percent(model));
  return out;
}

report::MonthEnergy energy_in(const report::EnergyReport& r) {
  report::MonthEnergy e;
  const auto rows = report::energy_rows(r);
  if (rows.empty()) return e;
  const report::EnergyRow& all = rows.back();
  e.it_kwh = all.it_kwh();
  e.facility_kwh = all.bill.kwh;
  if (r.bills.has_money) e.money = all.bill.energy_cost + all.bill.demand_cost;
  if (r.bills.has_carbon) e.co2_kg = all.bill.carbon_kg + all.bill.embodied_kg;
  e.currency = r.currency;
  e.basis = how_known(all);
  e.basis += fmt::format("; hosts at {} W for each GPU{}, the site at {} of its computers{}", report::render_decimal(r.host_w, 0),
                         r.host_assumed ? " (assumed) where no meter says" : " where no meter says",
                         report::render_decimal(r.rates.pue, 2), r.pue_assumed ? " (assumed)" : "");
  if (const auto& t = r.rates.tariff; t && e.money)
    e.basis +=
        fmt::format("; electricity by the tariff {}{}", t->name, t->synthetic ? ", which is MADE UP and no supplier's" : "");
  if (all.unknown_ms > 0)
    e.basis += fmt::format("; what GPUs drew in {} GPU-hours nobody knows, and it is in no sum",
                           report::render_decimal(static_cast<double>(all.unknown_ms) / 3.6e6, 0));
  for (std::size_t i = 0; i + 1 < rows.size() && i < kOwnersTold; ++i) e.owner_kwh.emplace_back(rows[i].name, rows[i].bill.kwh);
  return e;
}

}  // namespace

Result<void> add_month_energy(report::Month& m, const MonthOptions& o) {
  EnergyOptions e = o.energy;
  e.sacct = o.files.sacct;
  e.zone = o.files.zone;
  if (e.power.empty() && (e.sacct.empty() || (e.rates.tariff.empty() && e.rates.carbon.empty() && e.gpu.empty()))) {
    m.gaps.push_back({"energy and carbon", "no readings of power were given",
                      e.sacct.empty()
                          ? "--power READINGS, as `muster energy record` or nvidia-smi write them; --tariff and --carbon"
                          : "--power READINGS; or --tariff, --carbon or --gpu alone for an estimate from the jobs' GPU-hours"});
    return {};
  }
  e.from = render_utc(m.all.from);
  e.to = render_utc(m.all.to);
  e.by = report::EnergyBy::account;
  e.limit = kOwnersTold;
  const auto r = make_energy_report(e);
  if (!r) return tl::unexpected(r.error());
  m.energy = energy_in(*r);
  for (const std::string& note : r->notes) m.unseen.push_back("Of the energy: " + note + ".");
  return {};
}

Result<void> add_month_capacity(report::Month& m, const MonthOptions& o) {
  constexpr const char* kHow = "muster capacity forecast jobs.csv --gpus N -o json > outlook.json, then --capacity outlook.json";
  if (o.capacity.empty()) {
    m.gaps.push_back({"capacity outlook", "no forecast was given", kHow});
    return {};
  }
  const auto text = read_file(o.capacity);
  if (!text) return tl::unexpected(text.error());
  const auto json = parse_json(*text);
  if (!json || report::text_of(*json, "kind") != "CapacityForecast")
    return fail(Code::bad_input, fmt::format("{} is not what `muster capacity forecast -o json` prints", o.capacity), kHow);
  report::MonthCapacity c;
  c.verdict = report::text_of(*json, "verdict");
  for (const Value& e : report::list_of(*json, "ends"))
    c.ends.push_back({report::text_of(e, "what"), report::text_of(e, "limit"), report::text_of(e, "p10_date"),
                      report::text_of(e, "p50_date"), report::text_of(e, "p90_date")});
  const auto& days = report::list_of(*json, "forecast");
  if (!days.empty()) c.last_day = report::text_of(days.back(), "date");
  m.capacity = std::move(c);
  return {};
}

}  // namespace muster::cmd
