#include "account/energy_money.h"

#include <algorithm>
#include <map>

namespace muster::account {
namespace {

constexpr double kMjPerKwh = 3.6e9;
constexpr double kQuarterHours = 0.25;

std::optional<double> hour_of(const PriceSeries& s, Time utc) {
  constexpr std::int64_t kHour = hours(1).ns;
  if (s.hours() == 0 || utc < s.begins) return std::nullopt;
  const auto i = static_cast<std::size_t>((utc - s.begins).ns / kHour);
  return i < s.hours() ? std::optional(s.actual[i]) : std::nullopt;
}

struct Prices {
  std::vector<std::optional<double>> money, carbon;  // by quarter of an hour from EnergyBooks::nobody.first on
};

void charge(const RunEnergy& r, const Prices& p, std::int64_t first, const EnergyRates& rates, EnergyBill& bill) {
  for (std::size_t i = 0; i < r.quarters.size(); ++i) {
    const double kwh = static_cast<double>(r.quarters[i].it()) * rates.pue / kMjPerKwh;
    const auto at = static_cast<std::size_t>(r.first - first) + i;
    bill.kwh += kwh;
    if (p.money[at]) {
      bill.energy_cost += kwh * *p.money[at];
    } else {
      bill.unpriced_kwh += kwh;
    }
    if (p.carbon[at]) {
      bill.carbon_kg += kwh * *p.carbon[at] / 1000;
    } else {
      bill.unknown_carbon_kwh += kwh;
    }
  }
  bill.embodied_kg = static_cast<double>(r.gpu_ms) / 3.6e6 * rates.embodied_g_per_gpu_h / 1000;
}

double quarter_kwh(const RunEnergy& r, std::int64_t quarter, double pue) {
  if (quarter < r.first || quarter >= r.first + static_cast<std::int64_t>(r.quarters.size())) return 0;
  return static_cast<double>(r.quarters[static_cast<std::size_t>(quarter - r.first)].it()) * pue / kMjPerKwh;
}

// Quarters of an hour of a month by the zone's own clocks: a month in which they change is an hour shorter or longer.
double quarters_in(const Tariff& t, std::int32_t month_key) {
  using namespace std::chrono;
  const year_month m{year{month_key / 12}, month{static_cast<unsigned>(month_key % 12 + 1)}};
  const auto midnight = [&](sys_days day) {  // of the zone; months begin at no change of the clocks
    const Time utc = Time{0} + seconds(std::chrono::seconds{day.time_since_epoch()}.count());
    return utc - seconds(offset_at(t, utc - seconds(offset_at(t, utc))));
  };
  const Duration length = midnight(sys_days{(m + months{1}) / 1}) - midnight(sys_days{m / 1});
  return static_cast<double>(length.ns / kQuarter.ns);
}

// The highest of the months that a ratchet looks back upon; `begin` is the first that is told of.
double peak_before(const std::map<std::int32_t, DemandPeak>& months, std::int32_t begin, const TariffRule& rule,
                   std::int32_t month) {
  double kw = month - rule.ratchet_months < begin ? rule.earlier_peak_kw : 0;
  for (const auto& [key, p] : months) {
    if (key < month && key >= month - rule.ratchet_months) kw = std::max(kw, p.kw);
  }
  return kw;
}

void split_demand(const EnergyBooks& books, const EnergyRates& rates, EnergyBills& out) {
  const std::int64_t first = books.nobody.first;
  std::vector<double> all(books.nobody.quarters.size());  // kWh of each quarter
  const auto add = [&](const RunEnergy& r) {
    for (std::size_t i = 0; i < r.quarters.size(); ++i)
      all[static_cast<std::size_t>(r.first - first) + i] += quarter_kwh(r, r.first + static_cast<std::int64_t>(i), rates.pue);
  };
  add(books.nobody);
  for (const RunEnergy& r : books.runs) add(r);
  for (const TariffRule& rule : rates.tariff->demand) {
    std::map<std::int32_t, DemandPeak> months;
    std::map<std::int32_t, double> seen;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Time at = quarter_begins(first + static_cast<std::int64_t>(i));
      const LocalHour h = local_hour(*rates.tariff, at);
      ++seen[h.month_key()];
      if (!holds(rule, h)) continue;
      DemandPeak& p = months[h.month_key()];
      const double kw = all[i] / kQuarterHours;
      if (kw > p.kw) p = {h.month_key(), rule.name, at, kw, kw, rule.price, 0, 0, 0};
    }
    std::erase_if(months, [](const auto& m) { return m.second.kw <= 0; });
    for (auto& [month, p] : months) {
      p.billed_kw = std::max(p.kw, rule.ratchet * peak_before(months, seen.begin()->first, rule, month));
      p.seen = std::min(1.0, seen[month] / quarters_in(*rates.tariff, month));
      p.charge = p.billed_kw * p.price * p.seen;
      const std::int64_t q = quarter_of(p.at);
      const double whole = p.kw * kQuarterHours;
      for (std::size_t i = 0; i < books.runs.size(); ++i)
        out.runs[i].demand_cost += p.charge * quarter_kwh(books.runs[i], q, rates.pue) / whole;
      p.nobody_share = quarter_kwh(books.nobody, q, rates.pue) / whole;
      out.nobody.demand_cost += p.charge * p.nobody_share;
      out.peaks.push_back(p);
    }
  }
}

}  // namespace

std::optional<double> price_at(const EnergyRates& r, Time utc) {
  const double fees = r.tariff ? r.tariff->fees : 0;
  if (r.price.hours() > 0) {
    const auto per_mwh = hour_of(r.price, utc);
    return per_mwh ? std::optional(*per_mwh / 1000 + fees) : std::nullopt;
  }
  if (!r.tariff || r.tariff->hourly) return std::nullopt;
  const TariffRule* rule = rule_of(*r.tariff, local_hour(*r.tariff, utc));
  return rule == nullptr ? std::nullopt : std::optional(rule->price + fees);
}

std::optional<double> carbon_at(const EnergyRates& r, Time utc) {
  return r.carbon.hours() > 0 ? hour_of(r.carbon, utc) : r.carbon_flat;
}

EnergyBills bill_energy(const EnergyBooks& books, const EnergyRates& rates) {
  EnergyBills out;
  out.has_money = rates.price.hours() > 0 || (rates.tariff && !rates.tariff->hourly);
  out.has_carbon = rates.carbon.hours() > 0 || rates.carbon_flat;
  Prices prices;
  for (std::size_t i = 0; i < books.nobody.quarters.size(); ++i) {
    const Time at = quarter_begins(books.nobody.first + static_cast<std::int64_t>(i));
    prices.money.push_back(price_at(rates, at));
    prices.carbon.push_back(carbon_at(rates, at));
  }
  out.runs.resize(books.runs.size());
  for (std::size_t i = 0; i < books.runs.size(); ++i) charge(books.runs[i], prices, books.nobody.first, rates, out.runs[i]);
  charge(books.nobody, prices, books.nobody.first, rates, out.nobody);
  if (rates.tariff) split_demand(books, rates, out);
  return out;
}

}  // namespace muster::account
