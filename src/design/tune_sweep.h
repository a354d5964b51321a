// What to measure next, given what was measured: successive halving over the ways NCCL can do a collective. A function of the
// history alone, so that a sweep that was cut off goes on where it stood.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "model/nccl_way.h"

namespace muster::design {

struct SweepAsk {
  Collective op = Collective::all_reduce;
  std::vector<NcclAlgorithm> algorithms = {NcclAlgorithm::ring, NcclAlgorithm::tree};
  std::vector<NcclProtocol> protocols = {NcclProtocol::ll, NcclProtocol::ll128, NcclProtocol::simple};
  std::vector<std::uint32_t> channels;  // beside NCCL's own number
  std::vector<std::uint64_t> buffers;   // beside NCCL's own size
  double budget_s = 600;
  std::uint32_t repeats = 8;
};

enum class SweepStage : std::uint8_t {
  ways,      // every algorithm and protocol once
  channels,  // the better half of them with other numbers of channels
  buffers,   // NCCL's own choice with other buffers
  repeats,   // the fewer that are left, and NCCL's own, in turn
  done,      // all of them often enough
  no_time,   // for another launch
};
constexpr std::array<std::string_view, 6> names(SweepStage) {
  return {"ways", "channels", "buffers", "repeats", "done", "no_time"};
}

struct SweepStep {
  SweepStage stage = SweepStage::done;
  NcclWay way;                // to launch, unless done or no_time
  std::uint32_t run = 0;      // of this way
  double expected_s = 0;      // as others took; 0: nothing is known
  std::uint32_t in_play = 0;  // ways that may still be launched
};

SweepStep next_step(const SweepAsk& ask, std::span<const SweepRun> done);

// That NCCL has at all: PAT only gathers and scatters, trees only reduce to all, NVLS and its like have one protocol.
bool nccl_has(Collective op, NcclAlgorithm algorithm, NcclProtocol protocol);

}  // namespace muster::design
