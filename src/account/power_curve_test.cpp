// Energy over time from meters: counters, samples, gaps, resets and wraps.
#include "account/power_curve.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

namespace muster::account {
namespace {

constexpr Time kBegin{1'800'000'000'000'000'000};
Time at(double s) { return kBegin + from_seconds(s); }

PowerTrack track(std::vector<PowerPoint> points) {
  PowerTrack t;
  t.node = "n1";
  t.gpu = "GPU-1";
  t.points = std::move(points);
  return t;
}

Millijoules between(const PowerCurve& c, Time from, Time to) {
  Millijoules out = c.until(to).mj;
  const Millijoules before = c.until(from).mj;
  for (std::size_t i = 0; i < kEnergySources; ++i) out[i] -= before[i];
  return out;
}
constexpr auto kCounter = static_cast<std::size_t>(EnergySource::counter);
constexpr auto kSampled = static_cast<std::size_t>(EnergySource::sampled);
constexpr auto kEstimated = static_cast<std::size_t>(EnergySource::estimated);

PowerCurve make(const PowerTrack& t, CurveNotes& notes, CurveOptions o = {}) { return PowerCurve::make(t, o, notes); }

TEST(PowerCurve, SamplesAreAddedUpByTrapezoids) {
  CurveNotes n;
  const PowerCurve c = make(track({{at(0), 100, -1}, {at(1), 300, -1}, {at(2), 300, -1}}), n);
  EXPECT_EQ(between(c, at(0), at(2))[kSampled], 500'000);
  EXPECT_EQ(between(c, at(1), at(2))[kSampled], 300'000);
  EXPECT_EQ(n.gaps, 0u);
}

TEST(PowerCurve, ACounterIsBelievedBeforeSamples) {
  CurveNotes n;
  const PowerCurve c = make(track({{at(0), 400, 1'000'000}, {at(1), 400, 1'410'000}, {at(2), 400, 1'820'000}}), n);
  EXPECT_EQ(between(c, at(0), at(2))[kCounter], 820'000);
  EXPECT_EQ(between(c, at(0), at(2))[kSampled], 0);
}

TEST(PowerCurve, ACounterThatIsReadSeldomIsNotTakenToStandStill) {
  std::vector<PowerPoint> p;
  // Read anew every fifth time, as the agent does; the last four samples have nothing newer.
  for (int i = 0; i < 15; ++i) p.push_back({at(i), 400, 1'000'000 + i / 5 * 5 * 400'000});
  CurveNotes n;
  const PowerCurve c = make(track(p), n);
  EXPECT_EQ(between(c, at(0), at(14))[kCounter], 4'000'000);
  EXPECT_EQ(between(c, at(0), at(14))[kSampled], 1'600'000);
  EXPECT_EQ(n.jumps + n.resets + n.stood_still, 0u);
}

TEST(PowerCurve, AResetIsSeenAndSamplesStandIn) {
  CurveNotes n;
  const PowerCurve c =
      make(track({{at(0), 200, 90'000'000}, {at(1), 200, 90'200'000}, {at(2), 200, 50'000}, {at(3), 200, 250'000}}), n);
  EXPECT_EQ(n.resets, 1u);
  EXPECT_EQ(between(c, at(0), at(3))[kCounter], 400'000);
  EXPECT_EQ(between(c, at(0), at(3))[kSampled], 200'000);
}

TEST(PowerCurve, AWrapAt32BitsIsNoReset) {
  const std::int64_t wrap = std::int64_t{1} << 32;
  CurveNotes n;
  const PowerCurve c = make(track({{at(0), 300, wrap - 100'000}, {at(1), 300, 200'000}}), n);
  EXPECT_EQ(n.wraps, 1u);
  EXPECT_EQ(n.resets, 0u);
  EXPECT_EQ(between(c, at(0), at(1))[kCounter], 300'000);
}

TEST(PowerCurve, AJumpThatNoGpuCanDrawIsNotBelieved) {
  CurveNotes n;
  const PowerCurve c = make(track({{at(0), 300, 0}, {at(1), 300, 900'000'000}, {at(2), 300, 900'300'000}}), n);
  EXPECT_EQ(n.jumps, 1u);
  EXPECT_EQ(sum(between(c, at(0), at(2))), 600'000);
}

TEST(PowerCurve, ACounterThatSaysHalfOfTheSamplesIsNotBelieved) {
  std::vector<PowerPoint> p;
  for (int i = 0; i <= 20; ++i) p.push_back({at(i), 500, -1});
  p.front().energy_mj = 1000;
  p.back().energy_mj = 1000 + 20 * 100'000;
  CurveNotes n;
  const PowerCurve c = make(track(p), n);
  EXPECT_EQ(n.stood_still, 1u);
  EXPECT_EQ(between(c, at(0), at(20))[kSampled], 10'000'000);
}

TEST(PowerCurve, OverAGapIsEstimatedAndOverALongOneNothingIs) {
  std::vector<PowerPoint> p;
  for (int i = 0; i < 10; ++i) p.push_back({at(i), 100, -1});
  p.push_back({at(69), 100, -1});
  p.push_back({at(70), 100, -1});
  p.push_back({at(70 + 7200), 100, -1});
  CurveNotes n;
  const PowerCurve c = make(track(p), n);
  EXPECT_EQ(n.gaps, 2u);
  EXPECT_EQ(n.longest_gap, seconds(7200));
  EXPECT_EQ(n.longest_gap_at, at(70));
  EXPECT_EQ(between(c, at(9), at(69))[kEstimated], 6'000'000);
  EXPECT_EQ(sum(between(c, at(70), at(7270))), 0);
  EXPECT_EQ(c.until(at(7270)).covered_ns, seconds(70).ns);
}

TEST(PowerCurve, AGapOverWhichTheCounterWentOnLosesNoEnergy) {
  std::vector<PowerPoint> p;
  for (int i = 0; i < 5; ++i) p.push_back({at(i), 100, 1000 + i * 100'000});
  p.push_back({at(604), 100, 1000 + 604 * 100'000});
  CurveNotes n;
  const PowerCurve c = make(track(p), n);
  EXPECT_EQ(n.gaps, 1u);
  EXPECT_EQ(n.gaps_counted, 1u);
  EXPECT_EQ(between(c, at(0), at(604))[kCounter], 60'400'000);
}

TEST(PowerCurve, OneMeterAloneMayBeAskedFor) {
  const PowerTrack t = track({{at(0), 400, 0}, {at(1), 400, 410'000}, {at(2), 400, 820'000}});
  CurveNotes n;
  CurveOptions o;
  o.meter = Meter::sampled;
  EXPECT_EQ(sum(make(t, n, o).until(at(2)).mj), 800'000);
  o.meter = Meter::counter;
  EXPECT_EQ(sum(make(t, n, o).until(at(2)).mj), 820'000);
}

// However a stretch is cut, its parts sum to the whole, and no part is below 0.
RC_GTEST_PROP(PowerCurve, PartsSumToTheWhole, ()) {
  const auto steps = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::tuple<int, int, int>>>(
      rc::gen::tuple(rc::gen::inRange(1, 4000), rc::gen::inRange(-50, 700), rc::gen::inRange(-1, 3))));
  std::vector<PowerPoint> p;
  double s = 0;
  std::int64_t counter = 5'000'000;
  for (const auto& [ms, watts, kind] : steps) {
    s += ms / 1000.0;
    counter = kind == 0 ? 1000 : counter + static_cast<std::int64_t>(ms) * std::max(watts, 0);
    p.push_back({at(s), kind == 1 ? -1.0 : static_cast<double>(watts), kind == 2 ? -1 : counter});
  }
  CurveNotes n;
  const PowerCurve c = make(track(p), n);
  const auto cuts = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 1000));
  std::vector<Time> edges = {at(-1), at(s + 1)};
  for (const int x : cuts) edges.push_back(at(s * x / 1000.0));
  std::sort(edges.begin(), edges.end());
  std::int64_t parts = 0;
  for (std::size_t i = 1; i < edges.size(); ++i) {
    const std::int64_t part = sum(between(c, edges[i - 1], edges[i]));
    RC_ASSERT(part >= 0);
    parts += part;
  }
  RC_ASSERT(parts == sum(c.until(at(s + 1)).mj));
}

}  // namespace
}  // namespace muster::account
