#include "detect/xid.h"

#include <gtest/gtest.h>

#include "detect/watch.h"

namespace muster::detect {
namespace {

TEST(Xid, EachCodeOfTheCatalogueMeansItsOwnFault) {
  const std::pair<std::int32_t, FindingKind> kMeans[] = {
      {48, FindingKind::ecc_uncorrectable}, {63, FindingKind::row_remap_pending}, {64, FindingKind::row_remap_failed},
      {74, FindingKind::nvlink_degraded},   {79, FindingKind::gpu_lost},          {94, FindingKind::ecc_uncorrectable},
      {95, FindingKind::ecc_uncorrectable}, {119, FindingKind::gsp_timeout},      {120, FindingKind::gsp_timeout},
      {140, FindingKind::ecc_uncorrectable}};
  for (const auto& [code, kind] : kMeans) {
    Watch w;
    w.xid(kN1, 3, code);
    w.look();
    const Finding* f = w.open(kind);
    ASSERT_NE(f, nullptr) << code;
    EXPECT_EQ(f->node, kN1);
    EXPECT_EQ(f->slot, 3);
    EXPECT_EQ(f->code, code);
    EXPECT_FALSE(has_witness_beyond_log(*f)) << "a log line alone";
  }
}

TEST(Xid, AProgramsOwnErrorsAreNeverMoreThanInformation) {
  Watch w;
  for (int i = 0; i < 200; ++i) {
    for (const std::int32_t code : {13, 31, 43}) w.xid(kN0, 2, code);
    w.everybody_reports();
    w.look();
  }
  ASSERT_NE(w.open(FindingKind::app_error), nullptr);
  for (const auto& [id, f] : w.t.s.findings) {
    EXPECT_EQ(f.kind, FindingKind::app_error);
    EXPECT_EQ(f.severity, Severity::info);
  }
}

TEST(Xid, CodesThatOnlyRepeatAnotherOrThatNobodyKnowsStartNothing) {
  Watch w;
  for (const std::int32_t code : {0, -1, 45, 154, 9999}) w.xid(kN0, 1, code);
  w.look();
  EXPECT_EQ(w.findings(), 0U);
}

TEST(Xid, ARecordWhoseAddressIsNoGpuOfTheNodeBlamesNobody) {
  Watch w;
  w.xid(kN0, -1, 79);
  w.xid(kN0, 8, 79);        // eight GPUs: 0 to 7
  w.xid(NodeId{4}, 1, 79);  // four nodes: 0 to 3
  w.xid(NodeId{}, 1, 79);
  w.record(kN0, -1, KernelKind::off_bus);
  w.record(kN0, 99, KernelKind::off_bus);
  w.look();
  EXPECT_EQ(w.findings(), 0U);
}

}  // namespace
}  // namespace muster::detect
