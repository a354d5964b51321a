// What exchanges got of what their links promise: for nccl-tests' runs size by size, and for what NCCL's Inspector wrote down
// while a job ran also which rank or node falls out of line, and since when.
#pragma once
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/finding.h"
#include "model/nccl_bench.h"
#include "predict/collectives.h"

namespace muster::diagnose {

// What the texts do not tell, where somebody knows it.
struct NcclHint {
  std::string gpu;                  // GpuModel::name
  std::uint32_t gpus_per_node = 0;  // 0: not told
  double nic_gb_s = 0;              // a GPU's share of the network cards; 0: what is usual beside it on that network
  std::string network;              // CollectiveSetup::network; empty: InfiniBand
};

// All must outlive it.
struct NcclYardstick {
  const predict::Collectives& collectives;
  std::span<const GpuModel> gpus;
  NcclHint hint;
  std::span<const CollectiveRow> rows;  // that were measured: which cards are usual with a GPU on a network; may be empty
};

// The model of "NVIDIA H100 80GB HBM3" among the known: one whose name is a word of it. Cards without NVLink switches ("PCIe",
// "NVL") and parts of a GPU ("MIG") are none.
const GpuModel* gpu_model_of(std::string_view device, std::span<const GpuModel> gpus);

enum class BusVerdict : std::uint8_t { as_expected, slow_large, slow_small, slow, not_known };
constexpr std::array<std::string_view, 5> names(BusVerdict) {
  return {"as expected", "slow at large sizes: links", "slow at small sizes: latency", "slow at all sizes",
          "not known what to expect"};
}

struct JudgedSize {
  double bytes = 0, time_us = 0, bus_gb_s = 0;
  std::optional<predict::CollectivePrediction> expected;
  bool slow = false;  // beyond what is usual for such a prediction

  // Of the expected bandwidth, what it got.
  double share() const { return expected && time_us > 0 ? expected->s * 1e6 / time_us : 0; }
};

struct JudgedRun {
  std::string what;  // "all_reduce", or the program's name
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t ranks = 0, nodes = 0;
  std::string gpu;  // GpuModel::name; empty: not known
  std::vector<JudgedSize> sizes;
  BusVerdict verdict = BusVerdict::not_known;
  std::string why;                          // why it is not known what to expect, or what was assumed
  double large_share = 0, small_share = 0;  // medians; 0: no such sizes
  double wrong = 0;                         // values
};

std::vector<JudgedRun> judge_runs(const NcclTestLog& log, const NcclYardstick& yardstick);
std::vector<Finding> find_in_runs(std::span<const JudgedRun> runs);

// A split of a series into two levels: where the sum of distances of the values to the median of their side is least. Taken for a
// change only where the medians differ by 15 % or more, both sides have five values, and the split takes away a third of the
// distances. O(n log n). The index of the first value of the second side.
std::optional<std::size_t> level_change(std::span<const double> values);

struct OddRank {
  std::uint32_t rank = 0;
  std::string host;
  bool late = false;        // it is done sooner than the others, who wait for it: the last to come
  double share = 1;         // of the bandwidth that the median rank has in the same operations, from `since` on
  std::uint64_t since = 0;  // sequence number; the first that was kept where `from_start`
  bool from_start = true;
};

struct JudgedSeries {
  JudgedRun run;  // by size: medians over operations, of the rank that waited least
  std::string comm, name;
  std::uint64_t operations = 0, ranks_seen = 0;
  std::vector<OddRank> odd;            // the farthest out of line first
  std::vector<std::string> odd_hosts;  // where all ranks seen of a node, two or more, are out of line alike
  std::optional<std::uint64_t> since;  // all of them slower from this one on
  double since_share = 1;              // of the bandwidth before
};

std::vector<JudgedSeries> judge_inspector(const InspectorLog& log, const NcclYardstick& yardstick);
std::vector<Finding> find_in_inspector(std::span<const JudgedSeries> series);

}  // namespace muster::diagnose
