// The ways in which NCCL can do a collective, and how long one of them took: what a tuner chooses among.
#pragma once
#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/collective.h"

namespace muster {

// In NCCL's own order, which its cost tables are in too.
enum class NcclAlgorithm : std::uint8_t { tree, ring, collnet_direct, collnet_chain, nvls, nvls_tree, pat };
constexpr std::array<std::string_view, 7> names(NcclAlgorithm) {
  return {"tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"};
}
enum class NcclProtocol : std::uint8_t { ll, ll128, simple };
constexpr std::array<std::string_view, 3> names(NcclProtocol) { return {"ll", "ll128", "simple"}; }

struct NcclWay {
  bool own = true;  // left to NCCL; then algorithm, protocol and channels say nothing
  NcclAlgorithm algorithm = NcclAlgorithm::ring;
  NcclProtocol protocol = NcclProtocol::simple;
  std::uint32_t channels = 0;      // 0: as many as NCCL takes
  std::uint64_t buffer_bytes = 0;  // NCCL_BUFFSIZE, of which a chunk is a part; 0: NCCL's own

  bool is_default() const { return own && buffer_bytes == 0; }
  auto operator<=>(const NcclWay&) const = default;
};

// All-to-alls and sends are done in one way: settings of the algorithm say nothing to them, and tuners are not asked.
constexpr bool nccl_chooses(Collective op) { return op != Collective::all_to_all && op != Collective::send_recv; }

// Communicators and buffers for which one choice holds.
struct TuneKey {
  Collective op = Collective::all_reduce;
  std::uint32_t nodes = 1, ranks_per_node = 1;
  std::uint32_t nvlink_domain = 1;  // ranks that NVLink joins
  bool registered = false;          // buffers

  std::uint32_t ranks() const { return nodes * ranks_per_node; }
  auto operator<=>(const TuneKey&) const = default;
};

// One size of one launch: what repeats within a launch is one time, because launches differ by more than what is in them.
struct TuneTime {
  TuneKey key;
  double bytes = 0;  // as nccl-tests counts: of the whole buffer
  NcclWay way;
  std::uint32_t run = 0;
  double time_us = 0;
};

// One launch of a sweep, done or failed.
struct SweepRun {
  TuneKey key;
  NcclWay way;
  std::uint32_t run = 0;  // of this way, from 0
  double seconds = 0;
  std::string failure;                           // empty: it went well; untrusted
  std::vector<std::pair<double, double>> times;  // bytes, microseconds
};

// What NCCL's own tuner believes of a way: the start and the rate it reckons with, as its log prints them.
struct NcclBelief {
  Collective op = Collective::all_reduce;
  NcclAlgorithm algorithm = NcclAlgorithm::ring;
  NcclProtocol protocol = NcclProtocol::simple;
  double latency_us = 0;
  double gb_s = 0;  // of the operation's own bytes; 0: not to be used
};

// Which way NCCL said that it took.
struct TunePick {
  TuneKey key;
  double bytes = 0;
  NcclWay way;
};

}  // namespace muster
