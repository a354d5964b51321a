// Placement under churn: a synthetic stream of whole-node gangs on a large cluster, each decision timed. Figures:
// docs/scheduler/placement.md.
#pragma once
#include <cstdint>
#include <vector>

namespace muster::trial {

// The stream. A gang's size class is 2^e nodes, e from 0 to `classes` - 1, each class `thinning` times as frequent as the one
// below. 70 % of the gangs are exactly 2^e nodes, the others anything from 2^e to 2^(e+1) - 1. Life times are log-normal and
// do not depend on the size.
//
// The committed mix halves at each doubling, so that each class holds about the same node-hours: 50 % of the gangs are one
// node, 6 % have 16 nodes or more but hold half of the cluster, and the largest have 255 nodes (2,040 GPUs; the largest
// power of two is 1,024 GPUs). Mean 4.5 nodes.
struct GangMix {
  double thinning = 0.5;
  std::uint32_t classes = 8;
  double power_of_two = 0.7;
  double life_sigma = 1.5;
};

// Harder than the committed one, reported beside it: mean 9 nodes, up to 511 (4,088 GPUs).
constexpr GangMix kHeavyMix{0.6, 9, 0.7, 1.5};

// Nodes of 8 GPUs, 32 of them a leaf, 16 leaves a pod. Gangs above an eighth of the cluster are drawn anew.
constexpr std::uint32_t kGpusPerNode = 8, kNodesPerLeaf = 32, kLeavesPerPod = 16;

enum class Placement : std::uint8_t { muster, first_fit };

struct PlaceBench {
  std::uint32_t gpus = 98304;
  double load = 0.97;  // a gang arrives whenever no more than this share of the nodes is taken, so occupancy stays about there
  std::uint64_t seed = 1;
  std::uint64_t decisions = 400'000;  // after the warm-up
  GangMix mix;
  Placement placement = Placement::muster;
  bool costs = false;  // every node has a cost of its own, 1 to 200, drawn by the seed: the slowest case
};

struct PlaceFigures {
  std::uint32_t gpus = 0, nodes = 0, leaves = 0, pods = 0;
  std::uint64_t decisions = 0;
  double p50_us = 0, p99_us = 0, p999_us = 0, max_us = 0;  // thread CPU of one decision: find and take, with one clock read in it
  double clock_us = 0;                                     // what a read of that clock costs
  double leaves_ratio = 0;       // leaves used by all gangs over the least: ceil(nodes / leaf size), as on an empty cluster
  double leaves_ratio_mean = 0;  // the same ratio per gang, averaged
  double at_minimum_pct = 0;     // gangs on the least
  double rejected_pct = 0;       // gangs for which too few nodes were free; dropped, there is no queue
  double load_seen = 0;          // mean share of nodes taken after a decision
  double gang_mean = 0;          // nodes
  double running = 0;            // gangs at the end
};

PlaceFigures run_place_bench(const PlaceBench& bench);

}  // namespace muster::trial
