// Stores for a cluster: how many blocks of each kind it takes to write checkpoints in time and to feed the GPUs, what that costs,
// and the network of their own that joins them to the nodes.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/hardware_prices.h"
#include "model/store.h"

namespace muster::design {

struct StorageNeed {
  double read_gb_s = 0, write_gb_s = 0, pb = 0;
};

struct SizedStore {
  StoreKind kind;
  std::uint32_t blocks = 0;
  std::string_view bound;  // what asks for so many: "writing", "reading", "capacity" or "losing one"
  double usd = 0;

  double pb() const { return blocks * kind.usable_pb; }
  double read_gb_s() const { return blocks * kind.read_gb_s; }
  double write_gb_s() const { return blocks * kind.write_gb_s; }
  double kw() const { return blocks * kind.kw; }
};

// All of one tier, the cheapest first. An error: one has no price.
Result<std::vector<SizedStore>> size_stores(std::span<const StoreKind> kinds, bool objects, const StorageNeed& need,
                                            const HardwarePrices& prices);

struct StorageNetwork {
  std::uint32_t ports = 0;  // of nodes and of blocks
  std::uint32_t switches = 0, uplinks = 0;
  double oversubscription = 1;  // of its leaves
  double usd = 0;
};
// Two ports a node, so that a cable may fail; as narrow towards the spines as carries what is read and written at once with a
// spine gone.
constexpr std::uint32_t kStoragePorts = 2;
StorageNetwork storage_network(std::uint32_t nodes, std::span<const SizedStore> stores, double gb_s, std::uint32_t radix,
                               double port_gb_s, const HardwarePrices& prices);

// How many to keep on the shelf so that in 99 of 100 weeks there is one for each that is away for repair.
std::uint32_t spares_for(double units, double failures_a_year, double days_away);

}  // namespace muster::design
