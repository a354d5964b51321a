// Energy by who held the GPUs: what the meters said goes to holders and to nobody, exactly.
#include "account/energy.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace muster::account {
namespace {

const Time kDay{1'793'491'200'000'000'000};  // 2026-11-01T00:00Z
Time at(double s) { return kDay + from_seconds(s); }

PowerTrack steady(std::string node, int index, double watts, double from, double to) {
  PowerTrack t;
  t.node = std::move(node);
  t.index = index;
  t.gpu = "GPU-" + std::to_string(index) + t.node;
  for (double s = from; s <= to; s += 60) t.points.push_back({at(s), watts, -1});
  return t;
}

GpuHold hold(std::string job, std::string node, std::int64_t gpus, double from, double to, std::vector<std::string> which = {}) {
  GpuHold h;
  h.job = std::move(job);
  h.gpu_type = "h200";
  h.started = at(from);
  h.ended = at(to);
  h.places = {{std::move(node), gpus * 1000, std::move(which)}};
  return h;
}

EnergyOptions options() {
  EnergyOptions o;
  o.host_w = 350;
  o.watts = {{"h200", 81, 525, 700, ""}, {"b200", 116, 750, 1000, ""}, {"gb200", 139, 900, 1200, ""}};
  return o;
}
double gpu_kj(const RunEnergy& r) { return static_cast<double>(sum(r.total().gpu)) / 1e6; }

TEST(Energy, IdlePowerIsItsHoldersAndNobodysWhereNobodyHeldIt) {
  PowerReadings all;
  all.tracks = {steady("n1", 0, 100, 0, 7200), steady("n1", 1, 700, 0, 7200)};
  const std::vector<GpuHold> runs = {hold("1", "n1", 2, 0, 3600)};
  const EnergyBooks b = energy_of(runs, all, options());
  EXPECT_DOUBLE_EQ(gpu_kj(b.runs[0]), 800 * 3.6);
  EXPECT_DOUBLE_EQ(gpu_kj(b.nobody), 800 * 3.6);
  EXPECT_EQ(b.runs[0].apportioned_mj, 0);
  EXPECT_EQ(b.runs[0].gpu_ms, 2 * 3'600'000);
  EXPECT_EQ(b.runs[0].total().host_assumed, 2 * 350 * 3'600'000LL);
  EXPECT_EQ(b.nobody.total().host_assumed, 2 * 350 * 3'600'000LL);
}

TEST(Energy, WhichGpuIsFoundByIndexAndByUuid) {
  PowerReadings all;
  all.tracks = {steady("n1", 0, 100, 0, 3600), steady("n1", 1, 700, 0, 3600)};
  const std::vector<GpuHold> runs = {hold("1", "n1.site.org", 1, 0, 3600, {"1"}), hold("2", "", 1, 0, 3600, {"GPU-0n1"})};
  const EnergyBooks b = energy_of(runs, all, options());
  EXPECT_DOUBLE_EQ(gpu_kj(b.runs[0]), 700 * 3.6);
  EXPECT_DOUBLE_EQ(gpu_kj(b.runs[1]), 100 * 3.6);
}

TEST(Energy, WhereItIsNotKnownWhichGpuTheNodeIsSplitAndItIsSaid) {
  PowerReadings all;
  all.tracks = {steady("n1", 0, 100, 0, 3600), steady("n1", 1, 700, 0, 3600)};
  const std::vector<GpuHold> runs = {hold("1", "n1", 1, 0, 3600)};
  const EnergyBooks b = energy_of(runs, all, options());
  EXPECT_DOUBLE_EQ(gpu_kj(b.runs[0]), 400 * 3.6);
  EXPECT_DOUBLE_EQ(gpu_kj(b.nobody), 400 * 3.6);
  EXPECT_EQ(b.runs[0].apportioned_mj, sum(b.runs[0].total().gpu));
}

TEST(Energy, WithoutAnyReadingItIsEstimatedWithARange) {
  const std::vector<GpuHold> runs = {hold("1", "n1", 8, 0, 3600)};
  const EnergyBooks b = energy_of(runs, {}, options());
  EXPECT_DOUBLE_EQ(gpu_kj(b.runs[0]), 8 * 525 * 3.6);
  EXPECT_EQ(b.runs[0].total().gpu[static_cast<std::size_t>(EnergySource::estimated)], b.runs[0].estimate_mj);
  EXPECT_DOUBLE_EQ(b.runs[0].estimate_low_mj / 1e6, 8 * 81 * 3.6);
  EXPECT_DOUBLE_EQ(b.runs[0].estimate_high_mj / 1e6, 8 * 700 * 3.6);
}

TEST(Energy, WhatReadingsDoNotCoverIsEstimated) {
  PowerReadings all;
  all.tracks = {steady("n1", 0, 300, 0, 1800)};
  const std::vector<GpuHold> runs = {hold("1", "n1", 1, 0, 3600)};
  const EnergyBooks b = energy_of(runs, all, options());
  EXPECT_EQ(b.runs[0].total().gpu[static_cast<std::size_t>(EnergySource::sampled)], 300 * 1'800'000);
  EXPECT_EQ(b.runs[0].total().gpu[static_cast<std::size_t>(EnergySource::estimated)], 525 * 1'800'000);
}

TEST(Energy, AModelThatIsNotKnownIsNamed) {
  std::vector<GpuHold> runs = {hold("1", "n1", 8, 0, 3600)};
  runs[0].gpu_type = "x9000";
  const EnergyBooks b = energy_of(runs, {}, options());
  EXPECT_EQ(gpu_kj(b.runs[0]), 0);
  EXPECT_EQ(b.unknown_gpus, std::vector<std::string>{"x9000"});
}

TEST(Energy, SlurmsFigureCountsWholeNodesAndIsDoubted) {
  std::vector<GpuHold> runs = {hold("1", "n1", 8, 0, 3600)};
  runs[0].engine_j = 6'000.0 * 3600;
  EnergyBooks b = energy_of(runs, {}, options());
  EXPECT_EQ(b.runs[0].total().gpu[static_cast<std::size_t>(EnergySource::engine)], 21'600'000'000);
  EXPECT_EQ(b.runs[0].total().host_assumed, 0);
  for (const double garbage : {0.0, 4'294'967'294.0, 1.8446744073709552e19, 300.0 * 3600, 1e12}) {
    runs[0].engine_j = garbage;
    b = energy_of(runs, {}, options());
    EXPECT_FALSE(b.runs[0].engine_refused.empty()) << garbage;
    EXPECT_DOUBLE_EQ(gpu_kj(b.runs[0]), 8 * 525 * 3.6) << garbage;
  }
  runs[0].engine_j = 6'000.0 * 3600;
  runs.push_back(hold("2", "n1", 1, 1800, 5400));
  b = energy_of(runs, {}, options());
  EXPECT_NE(b.runs[0].engine_refused.find("another job"), std::string::npos);
}

TEST(Energy, ANodesMeterGivesTheHostsShare) {
  PowerReadings all;
  all.tracks = {steady("n1", 0, 100, 0, 3600), steady("n1", 1, 700, 0, 3600), steady("n1", 9, 1400, 0, 3600)};
  all.tracks[2].whole_node = true;
  const std::vector<GpuHold> runs = {hold("1", "n1", 1, 0, 3600, {"1"})};
  const EnergyBooks b = energy_of(runs, all, options());
  EXPECT_EQ(b.runs[0].total().host_measured, 300 * 3'600'000LL);
  EXPECT_EQ(b.nobody.total().host_measured, 300 * 3'600'000LL);
  EXPECT_EQ(b.runs[0].total().host_assumed, 0);
}

TEST(Energy, CountersAndSamplesAreHeldAgainstEachOther) {
  PowerReadings all;
  all.tracks = {steady("n1", 0, 500, 0, 3600)};
  for (std::size_t i = 0; i < all.tracks[0].points.size(); ++i)
    all.tracks[0].points[i].energy_mj = 7'000 + static_cast<std::int64_t>(i) * 60 * 505'000;
  const EnergyBooks b = energy_of({}, all, options());
  ASSERT_EQ(b.agreements.size(), 1u);
  EXPECT_DOUBLE_EQ(b.agreements[0].counter_j, 505 * 3600);
  EXPECT_DOUBLE_EQ(b.agreements[0].sampled_j, 500 * 3600);
}

TEST(Energy, TheLongestNameOfAModelCounts) {
  const EnergyOptions o = options();
  EXPECT_EQ(find_watts(o.watts, "NVIDIA H200")->gpu, "h200");
  EXPECT_EQ(find_watts(o.watts, "gb200")->gpu, "gb200");
  EXPECT_EQ(find_watts(o.watts, "NVIDIA B200 SXM")->gpu, "b200");
  EXPECT_EQ(find_watts(o.watts, "h2000"), nullptr);
  EXPECT_EQ(short_node("GPU01.site.org:9400"), "gpu01");
  EXPECT_EQ(short_node("10.1.2.3:9400"), "10.1.2.3");
}

// Whoever held what: holders and nobody together have what the meters said, to the millijoule.
RC_GTEST_PROP(Energy, NothingIsLostAndNothingIsInvented, ()) {
  PowerReadings all;
  for (int i = 0; i < 3; ++i) all.tracks.push_back(steady("n1", i, *rc::gen::inRange(1, 900), 0, 7200));
  std::vector<GpuHold> runs;
  const int count = *rc::gen::inRange(0, 6);
  for (int i = 0; i < count; ++i) {
    const int from = *rc::gen::inRange(0, 7000);
    const int to = *rc::gen::inRange(from + 1, 7201);
    const int gpus = *rc::gen::inRange(1, 4);
    const bool known = *rc::gen::arbitrary<bool>();
    runs.push_back(hold(std::to_string(i), "n1", gpus, from, to));
    for (int g = 0; known && g < gpus; ++g) runs.back().places[0].gpus.push_back(std::to_string(g));
  }
  const EnergyBooks b = energy_of(runs, all, options());
  std::int64_t given = sum(b.nobody.total().gpu), read = 0;
  for (const RunEnergy& r : b.runs) given += sum(r.total().gpu);
  CurveNotes n;
  for (const PowerTrack& t : all.tracks) read += sum(PowerCurve::make(t, {}, n).until(kNever).mj);
  RC_ASSERT(given == read);
}

TEST(Energy, ACounterOfAnotherUnitIsNotBelievedWhereSamplesSayOtherwise) {
  PowerReadings all;
  all.tracks = {steady("n1", 0, 5000, 0, 3600)};
  for (std::size_t i = 0; i < all.tracks[0].points.size(); ++i) {
    all.tracks[0].points[i].power_w = 500;
    all.tracks[0].points[i].energy_mj = static_cast<std::int64_t>(i) * 60 * 5'000;  // a hundredth of it
  }
  EnergyOptions o = options();
  EnergyBooks b = energy_of(std::vector<GpuHold>{hold("1", "n1", 1, 0, 3600)}, all, o);
  EXPECT_DOUBLE_EQ(gpu_kj(b.runs[0]), 500 * 3.6);
  ASSERT_EQ(b.agreements.size(), 1u);
  EXPECT_TRUE(b.agreements[0].counter_refused);
  o.curve.meter = Meter::counter;  // asked for by name
  b = energy_of(std::vector<GpuHold>{hold("1", "n1", 1, 0, 3600)}, all, o);
  EXPECT_DOUBLE_EQ(gpu_kj(b.runs[0]), 5 * 3.6);
}

TEST(Energy, ACounterInJoulesAloneIsNoEnergy) {
  PowerReadings all;
  all.tracks = {steady("n1", 0, -1, 0, 3600)};
  for (std::size_t i = 0; i < all.tracks[0].points.size(); ++i)
    all.tracks[0].points[i].energy_mj = static_cast<std::int64_t>(i) * 60 * 700;  // 700 W in joules
  const EnergyBooks b = energy_of(std::vector<GpuHold>{hold("1", "n1", 1, 0, 3600)}, all, options());
  EXPECT_EQ(b.notes.jumps, 60u);
  EXPECT_DOUBLE_EQ(gpu_kj(b.runs[0]), 525 * 3.6);  // estimated
}

TEST(Energy, MetersAreComparedOverWhatBothSawAndNoMore) {
  PowerReadings all;
  all.tracks = {steady("n1", 0, 500, 0, 7200)};
  for (std::size_t i = 90; i < all.tracks[0].points.size(); ++i)  // its last half hour alone has a counter
    all.tracks[0].points[i].energy_mj = static_cast<std::int64_t>(i) * 60 * 500'000;
  const EnergyBooks b = energy_of(std::vector<GpuHold>{hold("1", "n1", 1, 0, 7200)}, all, options());
  ASSERT_EQ(b.agreements.size(), 1u);
  EXPECT_EQ(b.agreements[0].over, minutes(30));
  EXPECT_DOUBLE_EQ(b.agreements[0].counter_j, b.agreements[0].sampled_j);
}

TEST(Energy, TheModelThatReadingsNameIsWhatARunWithoutOneIsEstimatedBy) {
  PowerReadings all;
  all.tracks = {steady("n1", 0, 300, 0, 1800)};
  all.tracks[0].model = "NVIDIA H200";
  std::vector<GpuHold> runs = {hold("1", "n1", 1, 0, 3600)};
  runs[0].gpu_type.clear();
  const EnergyBooks b = energy_of(runs, all, options());
  EXPECT_EQ(b.runs[0].total().gpu[static_cast<std::size_t>(EnergySource::estimated)], 525 * 1'800'000);
  EXPECT_TRUE(b.unknown_gpus.empty());
}

TEST(Energy, GpuHoursWhoseEnergyNobodyKnowsAreCounted) {
  std::vector<GpuHold> runs = {hold("1", "n1", 8, 0, 3600)};
  runs[0].gpu_type = "x9000";
  EXPECT_EQ(energy_of(runs, {}, options()).runs[0].unknown_ms, 8 * 3'600'000);
  runs[0].engine_j = 6'000.0 * 3600;  // the engine measured it: then its model need not be known
  const EnergyBooks b = energy_of(runs, {}, options());
  EXPECT_EQ(b.runs[0].unknown_ms, 0);
  EXPECT_TRUE(b.unknown_gpus.empty());
}

}  // namespace
}  // namespace muster::account
