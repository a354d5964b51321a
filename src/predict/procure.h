// A purchase of nodes as a sheet: what is to be bought with them, how many spares outlast the lead time, when the last day to
// order is, and what it costs between a low and a high price.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/hardware_prices.h"
#include "model/procurement.h"

namespace muster::predict {

// The fewest spares with which, with this chance at most, more units than that fail before new ones have come.
std::uint64_t spares_for(std::uint64_t units, double per_year, double weeks, double chance = 0.05);

struct PurchaseAsk {
  std::uint32_t nodes = 1;
  std::uint32_t gpus_per_node = 8;
  std::uint64_t gpus_now = 0;  // already there: their spares are bought too
  double gpu_usd = 0;          // with its share of the server
  double switch_usd = 0, cable_usd = 0, fibre_usd = 0, transceiver_usd = 0;
  double install_weeks = 4;                // from delivery to work
  std::optional<Time> need_p50, need_p10;  // when the capacity has to be there, and when with a chance of one in ten
};

struct SheetLine {
  std::string item;
  BuyItem terms = BuyItem::server;
  std::uint64_t needed = 0, spares = 0;
  double unit_usd = 0;
  double usd_low = 0, usd = 0, usd_high = 0;  // of all
  double weeks_low = 0, weeks_high = 0;
  std::optional<Time> order_p50, order_p10;  // latest: with the longest lead time, and the installation
};

struct Purchase {
  std::vector<SheetLine> lines;
  double usd_low = 0, usd = 0, usd_high = 0;
};

// The network is one of its own: two tiers of 64-port switches without oversubscription, one port a GPU. `muster design fabric`
// draws one port by port.
constexpr std::uint64_t kSwitchPorts = 64;
Purchase plan_purchase(const PurchaseAsk& ask, const ProcurementTerms& terms);

}  // namespace muster::predict
