#include "predict/nccl_cost.h"

#include <array>

namespace muster::predict {
namespace {

// Shares of a tree's rate that NCCL reckons with, by protocol and by the power of two of the size over 64 bytes.
constexpr std::array<std::array<double, 24>, 3> kTreeShare = {
    {{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
     {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
     {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9}}};
constexpr double kPlateau = 1.4;      // a ring of several nodes under Simple, of GPUs since Ampere
constexpr double kPlateauBytes = 64;  // of each rank and channel, from where that holds
constexpr double kRounded = 0.05;     // what is printed as 0.0 may be as much: of it nothing can be reckoned

// -1: below 64 bytes.
int tree_step(double bytes) {
  int step = -1;
  for (double b = bytes / 64; b >= 1 && step < 63; b /= 2) ++step;
  return step;
}

}  // namespace

std::optional<double> nccl_reckons_us(const NcclBelief& b, const NcclShape& shape, double bytes) {
  if (b.gb_s < kRounded) return {};
  double rate = b.gb_s, start = b.latency_us;
  const int step = tree_step(bytes);
  if (b.algorithm == NcclAlgorithm::tree && b.op == Collective::all_reduce && step >= 0 && step < 23)
    rate *= kTreeShare[static_cast<std::size_t>(b.protocol)][static_cast<std::size_t>(step)];
  const double each =
      bytes / (static_cast<double>(shape.channels < 1 ? 1 : shape.channels) * (shape.ranks < 1 ? 1 : shape.ranks));
  if (b.algorithm == NcclAlgorithm::ring && b.protocol == NcclProtocol::simple && shape.nodes > 1 &&
      b.op == Collective::all_reduce && each >= kPlateauBytes)
    start *= kPlateau;
  return start + bytes / (1000 * rate);
}

std::optional<NcclBelief> nccl_takes(std::span<const NcclBelief> beliefs, Collective op, const NcclShape& shape, double bytes) {
  std::optional<NcclBelief> best;
  double least = 0;
  for (const NcclBelief& b : beliefs) {
    const auto us = b.op == op ? nccl_reckons_us(b, shape, bytes) : std::nullopt;
    if (!us || (best && *us >= least)) continue;
    best = b;
    least = *us;
  }
  return best;
}

}  // namespace muster::predict
