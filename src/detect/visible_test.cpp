#include "detect/visible.h"

#include <gtest/gtest.h>

#include <limits>

#include "detect/watch.h"

namespace muster::detect {
namespace {

TEST(Readings, OnlyARiseIsASignAndTheFirstSampleIsNone) {
  Watch w;
  w.sample(kN0, 1, Field::ecc_dbe_total, 7);
  EXPECT_TRUE(w.look().empty());
  w.sample(kN0, 1, Field::ecc_dbe_total, 7);
  EXPECT_TRUE(w.look().empty());
  w.sample(kN0, 1, Field::ecc_dbe_total, 8);
  w.look();
  ASSERT_NE(w.open(FindingKind::ecc_uncorrectable), nullptr);
  EXPECT_TRUE(has_witness_beyond_log(*w.open(FindingKind::ecc_uncorrectable)));
}

TEST(Readings, ACounterThatFellWasResetWithTheDriver) {
  Watch w;
  w.sample(kN0, 1, Field::ecc_dbe_total, 7);
  w.look();
  w.sample(kN0, 1, Field::ecc_dbe_total, 0);
  EXPECT_TRUE(w.look().empty());
  w.sample(kN0, 1, Field::ecc_dbe_total, 1);
  EXPECT_EQ(w.look().size(), 1U);
}

TEST(Readings, AFewLinkErrorsAreNormal) {
  Watch w;
  for (const double v : {0.0, 10.0, 45.0}) {
    w.sample(kN0, 1, Field::nvlink_errors_total, v);
    EXPECT_TRUE(w.look().empty());
  }
  w.sample(kN0, 1, Field::nvlink_errors_total, 109);
  w.look();
  EXPECT_NE(w.open(FindingKind::nvlink_degraded), nullptr);
}

TEST(Readings, EachGpuHasItsOwnCounters) {
  Watch w;
  w.sample(kN0, 1, Field::ecc_dbe_total, 7);
  w.sample(kN0, 2, Field::ecc_dbe_total, 0);
  w.sample(kN1, 1, Field::ecc_dbe_total, 3);
  w.look();
  w.sample(kN0, 2, Field::ecc_dbe_total, 1);
  w.look();
  ASSERT_EQ(w.findings(), 1U);
  EXPECT_EQ(w.t.s.findings.begin()->second.slot, 2);
}

TEST(Readings, AMissingGpuIsLostUntilItIsSeenAgain) {
  Watch w;
  w.sample(kN0, -1, Field::gpus_visible, 0xfb);
  w.look();
  ASSERT_NE(w.open(FindingKind::gpu_lost), nullptr);
  EXPECT_EQ(w.open(FindingKind::gpu_lost)->slot, 2);
  w.sample(kN0, -1, Field::gpus_visible, 0xff);
  w.look();
  EXPECT_EQ(w.open(FindingKind::gpu_lost), nullptr);
}

TEST(Readings, AGpuThatComesBackAfterARestartOfTheControllerIsSeenToo) {
  Watch w;
  w.sample(kN0, -1, Field::gpus_visible, 0xfb);
  w.look();
  w.restart();
  w.sample(kN0, -1, Field::gpus_visible, 0xff);
  w.look();
  EXPECT_EQ(w.open(FindingKind::gpu_lost), nullptr);
}

TEST(Readings, WhileMusterRepairsANodeItsGpusMayBeMissing) {
  for (const Verb verb : {Verb::reboot_node, Verb::reset_gpu}) {
    Watch w;
    const IncidentId i = w.t.open(w.t.find(FindingKind::ecc_uncorrectable, kN0, 1));
    w.t.drained(kN0, i);
    w.t.order(verb, kN0, i);
    w.sample(kN0, -1, Field::gpus_visible, 0);
    EXPECT_TRUE(w.look().empty());
  }
}

TEST(Readings, RemapsLanesAndHeatHaveASignAndARelief) {
  struct Row {
    Field field;
    double bad, good;
    FindingKind kind;
  };
  const Row rows[] = {{Field::remap_pending, 1, 0, FindingKind::row_remap_pending},
                      {Field::remap_failed, 1, 0, FindingKind::row_remap_failed},
                      {Field::pcie_width, 8, 16, FindingKind::pcie_degraded},
                      {Field::gpu_temp_c, 87, 60, FindingKind::thermal_throttle}};
  for (const Row& row : rows) {
    Watch w;
    w.t.running({kN0});
    w.sample(kN0, 1, row.field, row.good);
    EXPECT_TRUE(w.look().empty());
    w.sample(kN0, 1, row.field, row.bad);
    w.look();
    EXPECT_NE(w.open(row.kind), nullptr);
    w.sample(kN0, 1, row.field, row.good);
    w.look();
    EXPECT_EQ(w.open(row.kind), nullptr);
  }
}

TEST(Readings, ATemperatureNearTheLimitNeitherBeginsNorEndsAnything) {
  Watch w;
  w.sample(kN0, 1, Field::gpu_temp_c, 86.9);
  EXPECT_TRUE(w.look().empty());
  w.sample(kN0, 1, Field::gpu_temp_c, 90);
  w.look();
  w.sample(kN0, 1, Field::gpu_temp_c, 80);
  w.look();
  EXPECT_NE(w.open(FindingKind::thermal_throttle), nullptr) << "within 8 C of the limit: still hot";
}

TEST(Readings, AGpuThatIsCoolWithoutLoadHasNotProvenItself) {
  Watch w;
  w.sample(kN0, 1, Field::gpu_temp_c, 95);
  w.look();
  w.sample(kN0, 1, Field::gpu_temp_c, 30);
  w.look();
  EXPECT_NE(w.open(FindingKind::thermal_throttle), nullptr);
}

TEST(Readings, SlotsAndNodesThatDoNotExistAreIgnored) {
  Watch w;
  for (const std::int16_t slot : {-1, 8, 100, 32767}) {
    for (const Field f : {Field::remap_failed, Field::gpu_temp_c, Field::ecc_dbe_total, Field::ib_up, Field::tensor_active}) {
      w.sample(kN0, slot, f, f == Field::ib_up ? 0 : 100);
    }
  }
  w.sample(NodeId{4}, 1, Field::remap_failed, 1);
  w.sample(NodeId{}, 1, Field::gpus_visible, 0);
  w.everybody_reports();
  w.look();
  w.everybody_reports();
  w.look(minutes(2));
  EXPECT_EQ(w.findings(), 0U);
}

TEST(Readings, NotANumberIsNoSign) {
  Watch w;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Field f :
       {Field::remap_failed, Field::gpu_temp_c, Field::ecc_dbe_total, Field::pcie_width, Field::nvlink_errors_total}) {
    w.sample(kN0, 1, f, nan);
  }
  EXPECT_TRUE(w.look().empty());
}

}  // namespace
}  // namespace muster::detect
