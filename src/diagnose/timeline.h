// What one rank's GPU did at every nanosecond of its steps, and why it did nothing when it did: parts that sum to the step.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "model/trace.h"

namespace muster::diagnose {

enum class Part : std::uint8_t {
  compute,         // kernels that compute, and nothing is exchanged beside them
  compute_beside,  // and exchanges run beside them
  wait,            // an exchange alone, in which this rank waits for a peer
  transfer,        // an exchange alone, while data moves; all of it where nothing is known of the peers
  pageable,        // a copy alone from or to memory that is not pinned, and the host's staging of it
  pinned,          // any other copy between host and device alone
  input,           // nothing runs: the host fetches a batch
  sync,            // the host had waited for the GPU, and the queue was empty after it
  launch,          // the host did not issue work as fast as it was done
  dependency,      // work was queued, and waited for another stream
  pipeline,        // sends and receives between stages alone: the pipeline's bubble
  other,           // the host did something that the profile does not show, or nobody knows
};
constexpr std::size_t kParts = 12;
constexpr std::array<std::string_view, kParts> names(Part) {
  return {"compute",       "compute_beside_exchange",
          "exchange_wait", "exchange_transfer",
          "copy_pageable", "copy_pinned",
          "input",         "sync",
          "launch",        "dependency",
          "pipeline",      "other"};
}

using PartTimes = std::array<std::int64_t, kParts>;  // nanoseconds, by Part

struct StepParts {
  Span span;
  std::uint32_t name = kNone;  // Trace::names of the step's mark; none: the profile has no marks, this is all of it
  PartTimes ns{};
};

// A time in which nothing ran, and the event that ended it.
struct Gap {
  Span span;
  Part part = Part::other;
  std::uint32_t next = 0;        // Timeline::events
  std::uint32_t during = kNone;  // Trace::names of the call or mark of the host that explains it
};

struct Timeline {
  std::int16_t device = 0;                 // the one with the most events
  std::uint32_t devices = 0;               // that did anything
  std::vector<const GpuEvent*> events;     // of that device, by their start
  std::vector<const RuntimeCall*> calls;   // by event: who launched it; null: not told
  std::vector<std::int64_t> own_ns;        // by event: within the steps, the time that is counted as its own
  std::vector<std::int64_t> waited_ns;     // by event: of that, waiting for a peer
  std::vector<std::int64_t> launch_steps;  // by event: which step launched it; -1: before the first
  bool lockstep = false;                   // the GPU ends a step's work before the host ends the step
  std::vector<StepParts> steps;            // whole ones; their parts sum to their span
  std::vector<Gap> gaps;                   // within the steps, in their order

  std::int64_t step_ns() const;  // mean
  PartTimes parts() const;       // of all steps together
};

// `waits`: by GPU event of the trace, how long it only waited for its peers; empty: not known.
Timeline timeline(const Trace& trace, std::span<const std::int64_t> waits = {});

// What the host's calls do to it.
enum class HostCall : std::uint8_t { plain, launch, copy, sync, allocate, graph };
HostCall host_call(std::string_view name);
bool fetches_input(std::string_view mark);

}  // namespace muster::diagnose
