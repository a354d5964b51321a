// Whole clusters for a need: what to buy, what it costs to buy and to keep, what it draws, and what it does.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "design/fabrics.h"
#include "design/search.h"
#include "design/storage.h"
#include "design/whole_run.h"
#include "model/calibration.h"
#include "model/cost_site.h"
#include "model/gpu_model.h"
#include "model/hardware_prices.h"
#include "model/training_plan.h"
#include "model/transformer.h"
#include "predict/collectives.h"

namespace muster::design {

using muster::Cooling;

struct GpuChoice {
  GpuModel gpu;
  Calibration calibration;
};

struct ClusterAsk {
  // Either a run that must be done in time, or so many GPUs.
  Transformer model;
  double tokens = 0;  // 0: no run is named
  double days = 0;    // 0: as many GPUs as asked for
  std::uint32_t gpus = 0;
  std::uint32_t grow_to = 0;  // GPUs later on, for which the spines must have room; 0: no more
  std::uint32_t batch = 1024, seq = 8192;
  Dtype dtype = Dtype::bf16;
  std::vector<GpuChoice> choices;
  HardwarePrices prices;
  std::vector<CollectiveClass> classes;  // what exchanges get of links
  std::uint32_t radix = 64;
  Cooling cooling = Cooling::air;
  double years = 4;
  std::vector<StoreKind> stores;
  std::string store;         // that is wanted; empty: the cheapest that does
  double feed_gb_s = 0.05;   // that each GPU reads
  double checkpoint_s = 60;  // until one is durable
  GiveUp give_up;
};

// What there is to buy when it grows.
struct GrowthStep {
  std::uint32_t gpus = 0;  // then
  std::uint32_t nodes = 0, switches = 0, cables = 0;
  double usd = 0;
};

struct Cables {
  std::uint32_t copper = 0, active = 0, fibre = 0;  // up to 3 m, up to 30 m, beyond

  std::uint32_t all() const { return copper + active + fibre; }
};

struct ClusterDesign {
  std::string gpu;
  Cooling cooling = Cooling::air;
  std::uint32_t gpus = 0, nodes = 0, node_gpus = 8, racks = 0, nodes_per_rack = 4;
  FabricAsk fabric;
  std::uint32_t switches = 0, leaves = 0, transceivers = 0;
  Cables cables;
  double hops = 0;                 // switches between two cards, mean over all pairs
  double bisection = 0;            // of the cards' rate, when all of it crosses the narrowest tier
  double one_down = 0;             // the same share with one spine gone
  double all_reduce_s = 0;         // of 1 GiB among all
  double it_mw = 0, mw = 0;        // machines at their limit; with cooling
  double write_gb_s = 0;           // of the store, so that a checkpoint is durable in time
  double read_gb_s = 0;            // so that data never wait
  std::vector<SizedStore> stores;  // that would do, the one that is bought first
  SizedStore objects;              // the cold tier
  StorageNetwork storage_network;
  std::uint32_t spare_nodes = 0, spare_cables = 0;
  double servers_usd = 0, network_usd = 0, storage_usd = 0, spares_usd = 0;  // to buy
  double yearly_usd = 0;                                                     // hall and people
  std::optional<GrowthStep> growth;
  std::optional<TrainingPlan> plan;  // of the named run
  std::optional<WholeRun> run;
  double step_s = 0;
  double peak_pflops = 0;  // of all GPUs by their data sheets, in the number format that was asked for
  bool front = false;      // no other is better in one of capital, yearly cost and days, and worse in none

  double capital_usd() const { return servers_usd + network_usd + storage_usd + spares_usd; }
};

struct ClusterDesigns {
  std::vector<ClusterDesign> designs;  // cheapest first
  std::vector<std::string> left_out;   // "gb200 is left out: ..."
};
// An error says what is contradictory, or that none of the GPUs does it, with the nearest miss.
Result<ClusterDesigns> design_clusters(const ClusterAsk& ask);

}  // namespace muster::design
