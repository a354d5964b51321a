// What energy costs and emits: the electricity of each quarter of an hour by the price and the carbon of that hour, the charge
// for the highest draw of a month by who drew it, and what was emitted when the servers were made.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "account/energy.h"
#include "model/price.h"
#include "model/tariff.h"

namespace muster::account {

struct EnergyRates {
  double pue = 1;                     // facility over IT
  std::optional<Tariff> tariff;       // none: no money, unless there are prices
  PriceSeries price;                  // per MWh, by the hour, utc; no hours: none
  PriceSeries carbon;                 // g/kWh, likewise
  std::optional<double> carbon_flat;  // g/kWh, where there is no series
  double embodied_g_per_gpu_h = 0;    // of making the servers; 0: not told
};

// Of one run, or of nobody.
struct EnergyBill {
  double kwh = 0;  // at the meter of the facility
  double energy_cost = 0;
  double demand_cost = 0;
  double unpriced_kwh = 0;  // in hours without a price
  double carbon_kg = 0;
  double embodied_kg = 0;
  double unknown_carbon_kwh = 0;  // in hours without an intensity
};

// The highest quarter of an hour of a month, as far as that month was seen.
struct DemandPeak {
  std::int32_t month = 0;  // LocalHour::month_key()
  std::string rule;
  Time at;
  double kw = 0;
  double billed_kw = 0;  // kw, or more where a ratchet holds
  double price = 0;      // per kW and month
  double charge = 0;     // billed_kw times price, times how much of the month was seen
  double seen = 0;       // share of the month
  double nobody_share = 0;
};

struct EnergyBills {
  std::vector<EnergyBill> runs;  // as EnergyBooks::runs
  EnergyBill nobody;
  std::vector<DemandPeak> peaks;
  bool has_money = false;
  bool has_carbon = false;
};

EnergyBills bill_energy(const EnergyBooks& books, const EnergyRates& rates);

// Per kWh and fees included at that time; nothing where nobody says.
std::optional<double> price_at(const EnergyRates& rates, Time utc);
std::optional<double> carbon_at(const EnergyRates& rates, Time utc);

}  // namespace muster::account
