// A fleet that runs acceptance tests: recordings as two H200 gave them, with what cards of a kind differ by, what one card
// differs by from run to run, and planted faults. What real fleets differ by is not published: the spreads are assumptions, said
// in docs/accept.md.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "model/acceptance.h"

namespace muster::trial {

// As shares of the value: standard deviations.
struct AcceptSpread {
  double unit = 0.003;          // between cards: rate per MHz
  double memory = 0.003;        // of memory
  double clock = 0.0175;        // the clock that the power limit leaves a card; of raw rates it is the greater part
  double link = 0.003;          // copies to the host and between GPUs
  double unit_window = 0.0019;  // within a run, 3 s: per MHz; measured
  double raw_window = 0.003;    // ... and the raw rate; measured
  double memory_run = 0.0016;   // measured
};

// What is slower than it should be, by `size` as a share.
enum class SlowPart : std::uint8_t { none, unit, memory, clock };
constexpr std::array<std::string_view, 4> names(SlowPart) { return {"none", "unit", "memory", "clock"}; }

// How a GPU tells what is not true; `chance` is of what the comment says.
enum class Lie : std::uint8_t {
  none,
  output,            // that an output of a product is wrong
  repeating,         // (none) one row of every product is wrong, in the same way each time
  sm,                // (none) one SM computes wrongly
  sm_at_times,       // that it does in one pass over all SMs
  address,           // (none) one address does not keep what was written
  address_at_times,  // that it does not, in one pass over memory
  uncorrected,       // uncorrected memory errors, an hour under load
  corrected,         // corrected ones
};
constexpr std::array<std::string_view, 9> names(Lie) {
  return {"none", "output", "repeating", "sm", "sm_at_times", "address", "address_at_times", "uncorrected", "corrected"};
}

struct Planted {
  SlowPart slow = SlowPart::none;
  double size = 0;
  Lie lie = Lie::none;
  double chance = 0;
};

// Whose tests: a node of a delivery of cards, which are drawn anew for each, and which run of theirs.
struct TestedNode {
  std::uint32_t delivery = 0;
  std::uint32_t node = 0;
  std::uint32_t run = 0;
};

class AcceptFleet {
 public:
  static constexpr std::uint32_t kPerNode = 8;
  explicit AcceptFleet(std::uint64_t seed, const AcceptSpread& spread = {}) : seed_(seed), spread_(spread) {}

  // The same node, run and fault give the same recording. What is planted is on all GPUs of the node.
  Acceptance record(const TestedNode& of, AcceptProfile profile, const Planted& planted = {}) const;
  // Those tests once more, as further turns of theirs.
  void repeat(Acceptance& a, const std::vector<std::pair<std::int32_t, AcceptTest>>& which, const TestedNode& of,
              const Planted& planted = {}) const;

 private:
  // What a card is like, as shares of what its kind gives.
  struct Card {
    std::array<double, 6> unit{};  // bf16, fp16, fp8, tf32, int8, random bf16
    std::array<double, 5> memory{};
    double clock = 1;
    std::array<double, 3> link{};
  };
  // One GPU under test.
  struct Bench {
    Acceptance& a;
    std::int32_t gpu;
    const Card& card;
    const Planted& planted;
    Prng& draw;
    bool reached;  // the bad address is in what a march can allocate
  };
  void measure(const Bench& b, AcceptTest test, double seconds, std::uint32_t turn) const;
  static void lie(const Bench& b, AcceptTest test, double seconds, std::uint32_t turn);
  std::array<Card, kPerNode> cards(const TestedNode& of) const;

  std::uint64_t seed_;
  AcceptSpread spread_;
};

}  // namespace muster::trial
