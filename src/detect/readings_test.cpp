// Detectors that judge readings of scrapes: memory, PCIe, the network, heat, clocks, the driver, versions, trends.
#include <gtest/gtest.h>

#include "detect/watch.h"

namespace muster::detect {
namespace {

// One value a minute of a GPU's series.
void feed(Watch& w, Field f, const std::vector<double>& values, std::int16_t slot = 2, Duration every = minutes(1)) {
  for (const double v : values) {
    w.everybody_reports();
    w.sample(kN0, slot, f, v);
    w.look(every);
  }
}

TEST(Ecc, CorrectedErrorsCountAsARate) {
  Watch slow, fast;
  feed(slow, Field::ecc_sbe_total, {0, 12, 12, 13, 13, 14});
  EXPECT_EQ(slow.findings(), 0U);
  feed(fast, Field::ecc_sbe_total, {0, 60, 130, 180});
  ASSERT_NE(fast.open(FindingKind::ecc_correctable), nullptr);
  EXPECT_EQ(fast.open(FindingKind::ecc_correctable)->slot, 2);
}

TEST(Ecc, ARemappedRowMeansAPendingResetOnlyWhereTheFlagIsNotExported) {
  Watch without, with;
  feed(without, Field::remapped_rows, {1, 2});
  EXPECT_NE(without.open(FindingKind::row_remap_pending), nullptr);
  feed(with, Field::remap_pending, {0});
  feed(with, Field::remapped_rows, {1, 2});
  EXPECT_EQ(with.open(FindingKind::row_remap_pending), nullptr);
}

TEST(Pcie, ANodeBuiltWithEightLanesIsSound) {
  Watch w;
  for (std::int16_t s = 0; s < 8; ++s) w.sample(kN0, s, Field::pcie_width, 8);
  EXPECT_TRUE(w.look().empty());
  w.sample(kN0, 3, Field::pcie_width, 4);
  w.look();
  ASSERT_NE(w.open(FindingKind::pcie_degraded), nullptr);
  EXPECT_EQ(w.open(FindingKind::pcie_degraded)->slot, 3);
}

TEST(Pcie, OnlyTheSpeedUnderLoadCounts) {
  Watch w;
  for (int i = 0; i < 4; ++i) {
    for (std::int16_t s = 0; s < 4; ++s) {
      w.sample(kN0, s, Field::gpu_util_pct, s == 1 ? 0 : 99);
      w.sample(kN0, s, Field::pcie_gen, s == 1 || s == 2 ? 1 : 5);
    }
    w.everybody_reports();
    w.look(minutes(1));
  }
  ASSERT_EQ(w.findings(), 1U);
  EXPECT_EQ(w.open(FindingKind::pcie_degraded)->slot, 2);
}

TEST(Pcie, FatalErrorsCountAtOnceAndCorrectedOnesWhenTheyCrowd) {
  Watch fatal, few;
  fatal.record(kN0, 1, KernelKind::pcie_error, 2);
  fatal.look();
  EXPECT_NE(fatal.open(FindingKind::pcie_degraded), nullptr);
  for (int i = 0; i < 9; ++i) {
    few.record(kN0, 1, KernelKind::pcie_error, 0);
    few.record(kN0, 1, KernelKind::pcie_error, 0);
    few.look(seconds(20));
  }
  EXPECT_EQ(few.findings(), 0U);
  few.record(kN0, 1, KernelKind::pcie_error, 0);
  few.look(seconds(20));
  EXPECT_NE(few.open(FindingKind::pcie_degraded), nullptr);
}

TEST(Pcie, CorrectedErrorsThatTheGpuCountsMayBeMoreThanReplays) {
  Watch w;
  for (const double v : {900.0, 950.0, 1000.0, 1050.0}) {
    w.sample(kN0, 3, Field::pcie_corrected_total, v);
    w.everybody_reports();
    w.look(minutes(1));
  }
  EXPECT_EQ(w.findings(), 0U);
  w.sample(kN0, 3, Field::pcie_corrected_total, 1400);
  w.look(minutes(1));
  EXPECT_NE(w.open(FindingKind::pcie_degraded), nullptr);
}

TEST(Nvlink, OneLinkThatFailsIsEnoughUnlessTheCountIsOldOrBeginsAnew) {
  Watch w;
  for (const double v : {18.0, 18.0, 0.0, 0.0}) {
    w.sample(kN0, 3, Field::nvlink_failures_total, v);
    w.look();
  }
  EXPECT_EQ(w.findings(), 0U);
  w.sample(kN0, 3, Field::nvlink_failures_total, 1);
  w.look();
  EXPECT_NE(w.open(FindingKind::nvlink_degraded), nullptr);
}

TEST(Infiniband, ErrorsCountByTheirRates) {
  Watch w;
  feed(w, Field::ib_symbol_errors_total, {0, 2, 4, 5, 9});
  feed(w, Field::ib_discards_total, {0, 900, 1800});
  EXPECT_EQ(w.findings(), 0U);
  feed(w, Field::ib_integrity_errors_total, {4, 5});
  EXPECT_NE(w.open(FindingKind::ib_degraded), nullptr);
}

TEST(Infiniband, ALinkThatIsStillDownHasNotFlapped) {
  Watch w;
  feed(w, Field::ib_link_downed_total, {1});
  w.sample(kN0, 2, Field::ib_link_downed_total, 2);
  w.sample(kN0, 2, Field::ib_up, 0);
  w.look(minutes(1));
  EXPECT_EQ(w.open(FindingKind::link_flap), nullptr);
  w.sample(kN0, 2, Field::ib_up, 1);
  w.look(seconds(10));
  EXPECT_NE(w.open(FindingKind::link_flap), nullptr);
}

TEST(Infiniband, ALinkThatTrainsToLessHasLostLanes) {
  Watch w;
  feed(w, Field::ib_rate_bytes, {50e9, 25e9});
  EXPECT_EQ(w.findings(), 0U);
  feed(w, Field::ib_rate_bytes, {25e9});
  EXPECT_NE(w.open(FindingKind::ib_degraded), nullptr);
}

TEST(Thermal, TheHardwaresWordIsEnoughAndTheDriversNeedsThree) {
  Watch hard, soft;
  feed(hard, Field::clock_reasons, {0x48});
  EXPECT_NE(hard.open(FindingKind::thermal_throttle), nullptr);
  feed(soft, Field::clock_reasons, {0x20, 0x20});
  EXPECT_EQ(soft.findings(), 0U);
  feed(soft, Field::clock_reasons, {0x20});
  EXPECT_NE(soft.open(FindingKind::thermal_throttle), nullptr);
}

TEST(Thermal, ATemperatureThatClimbsAtTheSamePowerIsAWarning) {
  Watch w;
  feed(w, Field::gpu_util_pct, {99});
  feed(w, Field::power_w, {690});
  std::vector<double> climbing;
  for (int i = 0; i < 30; ++i) climbing.push_back(66 + 0.5 * i);
  feed(w, Field::gpu_temp_c, climbing);
  const Finding* f = w.open(FindingKind::failure_predicted);
  ASSERT_NE(f, nullptr);
  EXPECT_GT(f->code, 0);
  EXPECT_NEAR(confidence(*f), f->code / 100.0, 1e-9);
}

TEST(Trend, AWarningSaysWhetherTheLinkOrTheGpuIsMeant) {
  for (const Field field : {Field::ib_symbol_errors_total, Field::ecc_sbe_total}) {
    Watch w;
    double total = 0;
    for (int i = 0; i < 36; ++i) {  // four quiet hours of twenty minutes each turn, then eight that are not
      total += i < 12 ? 1 : 30;
      w.sample(kN1, 2, field, total);
      w.everybody_reports();
      w.look(minutes(20));
      if (w.open(FindingKind::failure_predicted) != nullptr) break;
    }
    const Finding* f = w.open(FindingKind::failure_predicted);
    ASSERT_NE(f, nullptr) << name_of(field);
    EXPECT_EQ(of_link(*f), field == Field::ib_symbol_errors_total);
  }
}

TEST(Clocks, ThePowerSuppliesBrakeIsToldTwice) {
  Watch w;
  feed(w, Field::clock_reasons, {0x80});
  EXPECT_EQ(w.findings(), 0U);
  feed(w, Field::clock_reasons, {0x88});
  EXPECT_NE(w.open(FindingKind::power_brake), nullptr);
}

TEST(Clocks, ALowClockAtFullPowerIsThePowerLimit) {
  for (const double power : {300.0, 690.0}) {
    Watch w;
    for (int i = 0; i < 4; ++i) {
      for (std::int16_t s = 0; s < 5; ++s) {
        w.sample(kN0, s, Field::gpu_util_pct, 99);
        w.sample(kN0, s, Field::power_w, s == 2 ? power : 690);
        w.sample(kN0, s, Field::sm_clock_mhz, s == 2 ? 990 : 1830);
      }
      w.everybody_reports();
      w.look(minutes(1));
    }
    EXPECT_EQ(w.open(FindingKind::clock_drop) != nullptr, power < 600);
  }
}

TEST(Driver, AProbeThatDoesNotAnswerTwiceIsAFindingUntilItDoes) {
  Watch w;
  feed(w, Field::driver_answers, {1, 0}, -1);
  EXPECT_EQ(w.findings(), 0U);
  feed(w, Field::driver_answers, {0}, -1);
  EXPECT_NE(w.open(FindingKind::driver_hang), nullptr);
  feed(w, Field::driver_answers, {1}, -1);
  EXPECT_EQ(w.open(FindingKind::driver_hang), nullptr);
}

TEST(Driver, ItsVerdictIsHeardAndTakenBack) {
  Watch w;
  feed(w, Field::recovery_action, {0, 1});
  EXPECT_NE(w.open(FindingKind::gpu_fault), nullptr);
  feed(w, Field::recovery_action, {0});
  EXPECT_EQ(w.open(FindingKind::gpu_fault), nullptr);
}

TEST(Drift, OneNodeUnlikeTheOthersIsNamedOnceItHasSettled) {
  Watch w(6);
  for (int i = 0; i < 40; ++i) {
    for (std::uint32_t n = 0; n < 6; ++n)
      w.sample(NodeId{n}, -1, Field::driver_version, version_number(n == 4 ? 570 : 580, 159, 4));
    w.look(minutes(1));
    if (i == 12) {
      EXPECT_EQ(w.findings(), 0U);
    }
  }
  ASSERT_NE(w.open(FindingKind::version_drift), nullptr);
  EXPECT_EQ(w.open(FindingKind::version_drift)->node.v, 4U);
}

TEST(Trend, ErrorsThatMultiplyForAnHourAreAWarning) {
  Watch w;
  std::vector<double> v;
  for (int i = 0; i < 12; ++i) v.push_back(i);
  feed(w, Field::ecc_sbe_total, v, 2, minutes(20));
  EXPECT_EQ(w.findings(), 0U);
  feed(w, Field::ecc_sbe_total, {31, 61}, 2, minutes(20));
  EXPECT_EQ(w.findings(), 0U);
  feed(w, Field::ecc_sbe_total, {99}, 2, minutes(20));
  ASSERT_NE(w.open(FindingKind::failure_predicted), nullptr);
  EXPECT_GE(w.open(FindingKind::failure_predicted)->code, 40);
}

TEST(Collectives, ATimeOutNamesTheJobAndAFlapTheNode) {
  Watch w;
  const JobId job = w.t.running({kN0, kN1});
  const auto say = [&](JobLogKind k, NodeId n, std::int16_t slot) {
    const JobLogRecord r{w.t.now().utc, job, n, slot, k, 3, "text"};
    for (const Body& b : w.detectors.look({}, {}, {}, {}, w.t.s, w.t.now().utc, w.t.s.mono(), {&r, 1})) w.t.tell(b);
  };
  say(JobLogKind::timed_out, {}, -1);
  ASSERT_NE(w.open(FindingKind::nccl_hang), nullptr);
  EXPECT_EQ(w.open(FindingKind::nccl_hang)->job, job);
  EXPECT_FALSE(w.open(FindingKind::nccl_hang)->node.some());
  say(JobLogKind::port_error, kN1, 4);
  EXPECT_EQ(w.open(FindingKind::link_flap), nullptr);
  say(JobLogKind::port_active, kN1, 4);
  EXPECT_NE(w.open(FindingKind::link_flap), nullptr);
}

TEST(Findings, WhatIsRepeatedStaysAndWhatIsNotPasses) {
  Watch w;
  feed(w, Field::clock_reasons, {0x80, 0x80});
  feed(w, Field::clock_reasons, std::vector<double>(40, 0x80));
  EXPECT_NE(w.open(FindingKind::power_brake), nullptr);
  feed(w, Field::clock_reasons, std::vector<double>(32, 0));
  EXPECT_EQ(w.open(FindingKind::power_brake), nullptr);
}

TEST(Drift, AnUpdateThatRollsThroughTheSiteIsNone) {
  Watch w(20);
  const auto tell = [&](std::uint32_t n, double v) { w.sample(NodeId{n}, -1, Field::driver_version, v); };
  for (std::uint32_t n = 0; n < 20; ++n) tell(n, version_number(580, 159, 4));
  w.look();
  for (std::uint32_t n = 0; n < 20; ++n) {  // half an hour for each
    w.everybody_reports();
    tell(n, version_number(590, 44, 1));
    w.look(minutes(30));
    EXPECT_EQ(w.open(FindingKind::version_drift), nullptr) << n;
  }
  for (int i = 0; i < 8; ++i) {
    w.everybody_reports();
    tell(7, version_number(580, 159, 4));  // one goes back, and stays there
    w.look(hours(1));
  }
  EXPECT_NE(w.open(FindingKind::version_drift), nullptr);
}

TEST(Host, OneUncorrectedErrorOfItsMemoryIsEnough) {
  Watch w;
  w.sample(kN0, -1, Field::host_uncorrected_total, 3);
  w.look();
  EXPECT_EQ(w.findings(), 0U) << "what was before counts for nothing";
  w.sample(kN0, -1, Field::host_uncorrected_total, 4);
  w.look();
  EXPECT_NE(w.open(FindingKind::host_fault), nullptr);
}

}  // namespace
}  // namespace muster::detect
