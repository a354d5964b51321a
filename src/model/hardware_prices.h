// What the parts of a cluster cost to buy and to keep.
#pragma once
#include <map>
#include <string>

namespace muster {

// What somebody else's GPU costs.
struct RentalPrice {
  double usd_per_h = 0;
  std::string source;  // who asks for it, and when
};

struct HardwarePrices {
  std::map<std::string, double> gpu;  // by GpuModel::name: with its share of the server
  std::map<std::string, RentalPrice> rent;  // by GpuModel::name
  double switch_usd = 0;
  double transceiver = 0;
  double copper_cable = 0;                 // to 3 m
  double active_copper_cable = 0;          // to 7 m
  double active_cable = 0;                 // to 30 m
  double fibre = 0;                        // beyond, without its two transceivers
  std::map<std::string, double> store_pb;  // by StoreKind::name: a usable petabyte
  double storage_switch = 0;
  double hall_kw_month = 0;  // space, power and cooling
  double people_year = 0;
  std::map<std::string, std::string> sources;  // by item of the table: where its price is from
};

}  // namespace muster
