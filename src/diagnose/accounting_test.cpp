#include "diagnose/accounting.h"

#include <gtest/gtest.h>

#include "base/prng.h"

namespace muster::diagnose {
namespace {

GpuEvent event(std::int64_t from, std::int64_t to, GpuWork work, std::uint64_t correlation = kNoCorrelation) {
  GpuEvent e;
  e.span = {from, to};
  e.work = work;
  e.correlation = correlation;
  return e;
}

TEST(Accounting, NothingIsNothing) {
  const Accounting a = account({}, Counted::all_events);
  EXPECT_EQ(a.events(), 0U);
  EXPECT_EQ(a.span_ns, 0);
  EXPECT_EQ(a.idle_ns(), 0);
}

TEST(Accounting, UnionsAreExact) {
  Trace t;
  t.gpu = {event(0, 10, GpuWork::compute), event(5, 12, GpuWork::compute), event(8, 20, GpuWork::communication),
           event(30, 31, GpuWork::copy), event(30, 33, GpuWork::fill)};
  const Accounting a = account(t, Counted::all_events);
  EXPECT_EQ(a.covered_ns[0], 12);
  EXPECT_EQ(a.covered_ns[1], 12);
  EXPECT_EQ(a.sum_ns[0], 17);
  EXPECT_EQ(a.overlap_ns, 4);
  EXPECT_EQ(a.exposed_ns(), 8);
  EXPECT_EQ(a.span_ns, 33);
  EXPECT_EQ(a.busy_ns, 23);
  EXPECT_EQ(a.idle_ns(), 10);
}

// The same by counting every nanosecond.
TEST(Accounting, AgreesWithCountingNanoseconds) {
  Prng prng(7, "accounting");
  for (int round = 0; round < 50; ++round) {
    Trace t;
    std::vector<int> what(400, 0);
    for (int i = 0; i < 40; ++i) {
      const auto from = static_cast<std::int64_t>(prng.below(380));
      const auto to = from + static_cast<std::int64_t>(prng.below(20));
      const auto work = static_cast<GpuWork>(prng.below(4));
      t.gpu.push_back(event(from, to, work));
      for (std::int64_t n = from; n < to; ++n) what[static_cast<std::size_t>(n)] |= 1 << static_cast<int>(work);
    }
    const Accounting a = account(t, Counted::all_events);
    std::int64_t busy = 0, overlap = 0;
    std::array<std::int64_t, 4> covered{};
    for (const int w : what) {
      busy += w != 0 ? 1 : 0;
      overlap += (w & 3) == 3 ? 1 : 0;
      for (int k = 0; k < 4; ++k) covered[static_cast<std::size_t>(k)] += w >> k & 1;
    }
    EXPECT_EQ(a.busy_ns, busy);
    EXPECT_EQ(a.overlap_ns, overlap);
    EXPECT_EQ(a.covered_ns, covered);
  }
}

TEST(Accounting, WhatTheLastStepLaunchedIsLeftOut) {
  Trace t;
  t.steps = {{{0, 100}, 0, 0}, {{100, 200}, 0, 0}};
  t.calls = {{{10, 11}, 7, 0, 0}, {{150, 151}, 8, 0, 0}, {{120, 121}, 9, 0, 0}, {{20, 21}, 9, 0, 0}};
  t.gpu = {event(50, 60, GpuWork::compute, 7), event(160, 170, GpuWork::compute, 8), event(170, 180, GpuWork::compute, 9),
           event(180, 190, GpuWork::compute)};
  EXPECT_EQ(account(t, Counted::all_events).events(), 4U);
  EXPECT_EQ(account(t, Counted::drop_last_step).events(), 1U) << "the first call of a correlation decides, and none is none";
  t.steps.clear();
  EXPECT_EQ(account(t, Counted::drop_last_step).events(), 4U) << "no steps: nothing to leave out";
}

}  // namespace
}  // namespace muster::diagnose
