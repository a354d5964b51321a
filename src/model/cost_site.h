// What a site of GPUs is made of and what each part of it costs: what a cost file says, and nothing computed. Money is in US
// dollars, also where the file's was not.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/exchange_rate.h"

namespace muster {

// A number that may be known badly: between its ends, most likely in the shape of a triangle whose tip is `likely`.
struct Estimate {
  double low = 0, likely = 0, high = 0;

  constexpr Estimate() = default;
  constexpr Estimate(double x) : low(x), likely(x), high(x) {}  // NOLINT: a plain number is one that is known
  constexpr Estimate(double l, double m, double h) : low(l), likely(m), high(h) {}
  constexpr bool certain() const { return low == high; }
  bool operator==(const Estimate&) const = default;
};

enum class Cooling : std::uint8_t { air, rear_door, liquid };
constexpr std::array<std::string_view, 3> names(Cooling) { return {"air", "rear_door", "liquid"}; }

// What money goes into, in the order it is shown.
enum class CostClass : std::uint8_t { gpus, network, storage, facility, energy, people, software, repairs };
constexpr std::size_t kCostClasses = 8;
constexpr std::array<std::string_view, kCostClasses> names(CostClass) {
  return {"gpus", "network", "storage", "facility", "energy", "people", "software", "repairs"};
}

// Something bought once, besides the GPUs in their servers.
struct CapitalItem {
  std::string name;
  CostClass of = CostClass::network;  // network, storage or facility
  Estimate usd, quantity = 1;
  Estimate years;     // of life; 0: as the site's
  Estimate residual;  // share of its price that it is sold for then
  Estimate spares;    // bought on top, as a share
};

struct CostSite {
  std::string name, gpu;
  std::string as_of;  // "2026-11-01": the day of its prices
  ExchangeRate file;  // what its file is in, and changes of it are
  Estimate gpus, node_gpus = 8, gpu_price;
  Estimate interest, years = 5, residual, spares;

  Estimate availability = 1, utilisation = 1, goodput = 1;  // delivered of owned, allocated of owned, useful of allocated

  Estimate idle_kw, busy_kw, nameplate_kw;  // of a node, with its fans
  Estimate fans_kw;                         // of these, what moves air
  Estimate other_kw;                        // switches, stores, hosts without GPUs
  std::optional<Estimate> load;             // share of the way from idle to busy; none: as utilisation
  Cooling cooling = Cooling::air;
  std::optional<Estimate> pue;  // none: what is usual with that cooling
  Estimate usd_per_kwh, demand_usd_per_kw_month;

  Estimate hall_usd_per_kw_month;  // of IT power on the nameplates
  bool hall_includes_power = false;

  Estimate people, usd_per_person, software_usd_per_gpu;

  Estimate failures_a_year;  // of a GPU, with its share of the server
  Estimate part_usd, warranty;
  Estimate hours_down, gpus_down = 1, usd_per_gpu_hour_down;

  std::vector<CapitalItem> capital;
  std::vector<std::string> assumptions;  // what the numbers rest upon, for who reads the result
};

// What a number of a cost file may be.
struct CostBounds {
  double min = 0, max = 1e9;
  bool needed = false;
};

// Every number of a site but those that may be missing, by its key: readers, changes and draws visit this one list. `s` may be
// const.
template <class S, class V>
void visit_numbers(S& s, V&& v) {
  constexpr CostBounds kShare{0, 1}, kUsd{0, 1e12}, kKw{0, 1e7};
  v("gpus", s.gpus, CostBounds{1, 1e7, true});
  v("node_gpus", s.node_gpus, CostBounds{1, 1024});
  v("gpu_price", s.gpu_price, CostBounds{0, 1e7, true});
  v("interest", s.interest, CostBounds{0, 0.5});
  v("years", s.years, CostBounds{0.5, 30});
  v("residual", s.residual, kShare);
  v("spares", s.spares, kShare);
  v("use.availability", s.availability, CostBounds{0.01, 1});
  v("use.utilisation", s.utilisation, CostBounds{0.01, 1});
  v("use.goodput", s.goodput, CostBounds{0.01, 1});
  v("power.idle_kw", s.idle_kw, kKw);
  v("power.busy_kw", s.busy_kw, kKw);
  v("power.nameplate_kw", s.nameplate_kw, kKw);
  v("power.fans_kw", s.fans_kw, kKw);
  v("power.other_kw", s.other_kw, kKw);
  v("power.usd_per_kwh", s.usd_per_kwh, CostBounds{0, 10});
  v("power.demand_usd_per_kw_month", s.demand_usd_per_kw_month, CostBounds{0, 1e4});
  v("facility.usd_per_kw_month", s.hall_usd_per_kw_month, CostBounds{0, 1e5});
  v("people.count", s.people, CostBounds{0, 1e6});
  v("people.usd_per_person", s.usd_per_person, CostBounds{0, 1e7});
  v("software.usd_per_gpu", s.software_usd_per_gpu, CostBounds{0, 1e6});
  v("repairs.failures_a_year", s.failures_a_year, CostBounds{0, 10});
  v("repairs.part_usd", s.part_usd, CostBounds{0, 1e7});
  v("repairs.warranty", s.warranty, kShare);
  v("repairs.hours_down", s.hours_down, CostBounds{0, 8760});
  v("repairs.gpus_down", s.gpus_down, CostBounds{0, 1024});
  v("repairs.usd_per_gpu_hour", s.usd_per_gpu_hour_down, CostBounds{0, 1e4});
  for (auto& c : s.capital) {
    v("capital." + c.name + ".usd", c.usd, kUsd);
    v("capital." + c.name + ".quantity", c.quantity, CostBounds{0, 1e9});
    v("capital." + c.name + ".years", c.years, CostBounds{0, 50});
    v("capital." + c.name + ".residual", c.residual, kShare);
    v("capital." + c.name + ".spares", c.spares, kShare);
  }
}

}  // namespace muster
