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
  bool slow = false;         // beyond what is usual for such a prediction
  double slow_above_us = 0;  // what is slow takes longer than this; 0: nothing is expected

  // Of the expected bandwidth, what it got.
  double share() const { return expected && time_us > 0 ? expected->s * 1e6 / time_us : 0; }
  // So little is known of it that a share of the middle says nothing: only the interval does.
  bool rough() const { return expected && slow_above_us >= 1.5e6 * expected->s; }
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
  double own_us = 0, others_us = 0;  // its time in them, and the median rank's: medians from `since` on
};

// The ranks of one node in one communicator.
struct HostTally {
  std::string host;
  std::size_t seen = 0, late = 0, slow = 0;
  OddRank odd;  // the median of those out of line; its rank means nothing

  // All of them are out of line alike: it is the node, and not a rank.
  bool late_node() const { return !host.empty() && seen >= 2 && late == seen; }
  bool slow_node() const { return !host.empty() && seen >= 2 && slow == seen; }
};

struct LastToCome {
  std::uint32_t rank = 0;
  std::string host;
  std::uint64_t times = 0;  // operations
  double share = 0;         // of all waiting, what was for it
};

// What ranks wait for each other, whoever comes last: what they are in an operation longer than the one that is in it the
// shortest.
struct Waiting {
  double share = 0;                     // of the time that ranks are in the operations, from `since` on
  double shortest_us = 0, mean_us = 0;  // means over operations: of the shortest rank, and of all ranks
  std::uint64_t operations = 0, since = 0;
  bool from_start = true;
  std::vector<LastToCome> last;              // at most eight, the one that most of the waiting is for first
  std::optional<std::uint32_t> mostly_rank;  // far more of it is for this one than for any other
  std::string mostly_host;                   // or for ranks of this node; may be set with the rank
};

// A peer with which sends or receives take longer than with others over the same kind of link.
struct SlowPeer {
  std::uint32_t peer = 0;
  std::string host;
  std::vector<std::uint32_t> by;  // ranks for which it is so, ascending
  std::size_t of = 0;             // ranks that could tell
  double times = 1;               // as long as with the median of the others
  std::uint64_t since = 0;
  bool from_start = true;

  // It is the peer, and not the way to it.
  bool for_most() const { return by.size() >= 2 && 2 * by.size() > of; }
};

struct JudgedSeries {
  JudgedRun run;  // by size: medians over operations, of the rank that waited least
  std::string comm, name;
  std::uint64_t operations = 0, ranks_seen = 0;
  std::vector<OddRank> odd;            // the farthest out of line first
  std::vector<std::string> odd_hosts;  // where all ranks seen of a node, two or more, are out of line alike
  std::optional<std::uint64_t> since;  // all of them slower from this one on
  double since_share = 1;              // of the bandwidth before
  std::vector<HostTally> hosts;        // by name
  std::optional<Waiting> waiting;      // none: too few operations with two ranks or more, or of pairs
  std::vector<SlowPeer> peers;         // of sends and receives, the slowest first
  std::uint64_t damaged_lines = 0;     // in all the files that were given
};

std::vector<JudgedSeries> judge_inspector(const InspectorLog& log, const NcclYardstick& yardstick);
std::vector<Finding> find_in_inspector(std::span<const JudgedSeries> series);

}  // namespace muster::diagnose
