// Which way NCCL should do a collective, by size, from measured times; and where its own choice is left alone. A choice is
// overridden only where repetitions that had no part in choosing say that it gains more than the noise and a margin.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "model/nccl_way.h"

namespace muster::design {

struct TuneRules {
  double margin = 0.03;       // a gain that counts, and what nothing may lose beyond noise
  double sigmas = 1.645;      // of the bound: one in twenty lies beyond it
  std::uint32_t repeats = 4;  // launches of a way and of NCCL's own, below which nothing is said

  bool enough(std::size_t launches) const { return launches >= std::max(2U, repeats); }
};

enum class TuneVerdict : std::uint8_t {
  too_few,       // repetitions
  own_is_best,   // nothing was faster where it was chosen
  within_noise,  // something was, but not surely enough, or by too little
  overridden,    // by what was measured at this size
  carried,       // by this size and its neighbours together; this one alone excludes a loss beyond the margin
  no_choice,     // NCCL has one way to do it
};
constexpr std::array<std::string_view, 6> names(TuneVerdict) {
  return {"too_few", "own_is_best", "within_noise", "overridden", "carried", "no_choice"};
}

struct TunedWay {
  NcclWay way;
  double us = 0;  // median
  std::uint32_t launches = 0;
};

// Of the proposal: NCCL's own time over its, less one.
struct TunedGain {
  double gain = 0;   // as far as it is believed: 0.25 is a quarter faster
  double low = 0;    // its lower bound
  double noise = 0;  // of the gain, to either side
};

struct TunedSize {
  double bytes = 0;
  double own_us = 0;           // median of what NCCL chose itself; 0: not measured
  std::vector<TunedWay> ways;  // all others, fastest first
  NcclWay best;                // the fastest of those with enough launches, NCCL's own among them
  double best_us = 0;          // 0: none has
  NcclWay proposed;            // the fastest by the half that chooses, neighbours considered
  NcclWay choice;              // what is proposed, or NCCL's own
  double choice_us = 0;
  TunedGain here;        // by this size alone
  TunedGain neighbours;  // where that carried it: by this size and its neighbours together
  double regret = 1;     // own time over the time of the best, which one half names and the other times
  double left = 1;       // the same of the choice
  std::uint32_t repeats = 0;
  TuneVerdict verdict = TuneVerdict::too_few;

  double us(const NcclWay& way) const;  // 0: not measured
  bool judged() const { return verdict != TuneVerdict::too_few && verdict != TuneVerdict::no_choice; }
  // What a plugin shall hold the choice by, which asks for more than the noise and the margin.
  const TunedGain& held(const TuneRules& rules) const;
};

struct Tuned {
  TuneKey key;
  std::vector<TunedSize> sizes;  // ascending
  double spread = 0;             // of one repetition, relative: the middle of the sizes'

  // Geometric means and the worst over the sizes that were measured often enough.
  double regret() const;
  double left() const;
  double worst_regret() const;
  std::uint32_t overridden() const;
};

// One for each key, in order.
std::vector<Tuned> tune(std::span<const TuneTime> times, const TuneRules& rules);

// A buffer of another size for everything NCCL does by its own choice, by the same rule: a gain on the whole, and at no size a
// loss beyond the margin and the noise. 0: none.
struct TunedBuffer {
  std::uint64_t bytes = 0;
  double gain = 0;  // geometric mean over the sizes
  std::uint32_t sizes = 0;
};
TunedBuffer tune_buffer(std::span<const TuneTime> times, const TuneKey& key, const TuneRules& rules);

}  // namespace muster::design
