// The course of a device's memory: what lives from when to when, where steps begin, and who asked for what.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "diagnose/memory.h"

namespace muster::diagnose {

// What the calls of a stack tell.
struct StackFacts {
  std::string user;  // "train_step at train.py:88"
  bool optimizer = false, backward = false, workspace = false;
};
std::vector<StackFacts> facts_of(const MemorySnapshot& snapshot);

constexpr std::uint32_t kForever = ~std::uint32_t{0};

// One allocation; those from before have `born` kForever.
struct Lifetime {
  std::uint64_t address = 0, size = 0, requested = 0;
  std::uint32_t stack = 0;
  std::uint32_t born = kForever, died = kForever;  // events
  bool lives_at(std::size_t event) const { return (born == kForever || born <= event) && died > event; }
};

struct MemoryCourse {
  std::vector<Lifetime> lives;
  std::vector<std::size_t> steps;  // events that a step begins with; empty: none could be told apart
  MemoryPeak allocated_peak, reserved_peak;
  std::size_t step_of(std::size_t event) const;  // 0: before the first
};
MemoryCourse course_of(const MemoryHistory& history, std::size_t stacks);

// Of those that live at that event.
class MemoryClasses {
 public:
  MemoryClasses(const MemoryCourse& course, const std::vector<StackFacts>& facts);
  MemoryClass of(const Lifetime& l) const;

 private:
  bool passes(const Lifetime& l) const;
  const MemoryCourse& course_;
  const std::vector<StackFacts>& facts_;
  std::vector<std::uint32_t> asked_, ended_;  // by stack: how many, and how many of them ended within a step or two
  std::vector<bool> kept_;                    // asked for in later steps as well, and never given back
  std::vector<std::uint64_t> lasting_sizes_;  // of what lives from before the first step; sorted
};

// What the device's segments and blocks were at that event.
MemoryState state_at(const MemorySnapshot& snapshot, const MemoryHistory& history, const MemoryCourse& course, std::size_t event,
                     Oom* oom);
MemoryState state_now(const MemorySnapshot& snapshot, std::uint32_t device);

}  // namespace muster::diagnose
