// Operations in which many GPUs exchange data at once, and how long they took where somebody measured them.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace muster {

enum class Collective : std::uint8_t { all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, reduce, send_recv };
constexpr std::array<std::string_view, 7> names(Collective) {
  return {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "reduce", "send_recv"};
}

// Bytes of the operation to bytes that each rank has to send at least where all links are alike: nccl-tests' "bus" bandwidth is
// that over time.
constexpr double bus_factor(Collective op, double ranks) {
  switch (op) {
    case Collective::all_reduce: return 2 * (ranks - 1) / ranks;
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_to_all: return (ranks - 1) / ranks;
    default: return 1;
  }
}

struct CollectiveSetup {
  Collective op = Collective::all_reduce;
  std::string gpu;  // GpuModel::name, or what a table calls it
  std::uint32_t gpus = 0;
  std::uint32_t together = 8;  // that NVLink joins
  double nic_gb_s = 0;         // a GPU's share of the network cards, bytes one way; 0: not told
  std::string network;         // "infiniband", "efa", ...: what carries it beyond NVLink; empty: nothing does

  bool operator==(const CollectiveSetup&) const = default;
};

struct CollectiveRow {
  std::size_t row = 0;  // of the table, from 0
  std::string site;     // who measured where; untrusted
  std::string variant;  // algorithm and number format, where the table tells
  CollectiveSetup setup;
  double bytes = 0;   // as nccl-tests counts: of the whole buffer
  double time_s = 0;  // 0: not known
};

// What exchanges of one kind get of the links they go over.
struct CollectiveClass {
  std::string name;    // "nvls", "nvlink", or a network's
  double share = 0.9;  // of what the links could carry, for the largest
  double start = 2;    // what the smallest take, in what NCCL's own table says of them
  double knee = 1;     // how much longer those between take than a start and the bytes
  std::uint32_t rows = 0;

  bool operator==(const CollectiveClass&) const = default;
};

// Eight of ten lie between these shares of the prediction: where the same set-up was measured at other sizes, and where it was
// not.
struct CollectiveSpread {
  double low = 0.9, high = 1.1;
  double far_low = 0.7, far_high = 1.4;
};

}  // namespace muster
