// Where each nanosecond of a rank's GPU went, exactly: unions of what ran, in whole nanoseconds.
#pragma once
#include <array>
#include <cstdint>

#include "model/trace.h"

namespace muster::diagnose {

struct Accounting {
  std::array<std::uint64_t, 4> count{};      // by GpuWork
  std::array<std::int64_t, 4> sum_ns{};      // each event's own length
  std::array<std::int64_t, 4> covered_ns{};  // in which any of them ran
  std::int64_t span_ns = 0;                  // from the first start to the last end
  std::int64_t busy_ns = 0;                  // in which anything ran
  std::int64_t overlap_ns = 0;               // of exchanges, beside computing

  std::uint64_t events() const { return count[0] + count[1] + count[2] + count[3]; }
  std::int64_t idle_ns() const { return span_ns - busy_ns; }
  std::int64_t exposed_ns() const { return covered_ns[static_cast<std::size_t>(GpuWork::communication)] - overlap_ns; }
};

enum class Counted : std::uint8_t {
  all_events,      // every GPU event
  drop_last_step,  // those whose launch began before the last of several steps, which profilers cut off
};

Accounting account(const Trace& trace, Counted which);

}  // namespace muster::diagnose
