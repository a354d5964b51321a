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

TEST(Xid, CodesThatOnlyRepeatAnotherOrThatAreNoneStartNothing) {
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

// A record with what the parser reads beside the code.
KernelRecord record(const Watch& w, std::int16_t slot, std::int32_t code, std::int32_t caused_by = 0, std::int32_t verdict = -1) {
  KernelRecord r;
  r.at = w.t.now().utc;
  r.node = kN0;
  r.slot = slot;
  r.code = code;
  r.seq = 7;
  r.text = "text";
  r.caused_by = caused_by;
  r.verdict = verdict;
  return r;
}

TEST(Xid, WhatALostGpuStillSaysIsEvidenceOfItsLoss) {
  Watch w;
  w.xid(kN0, 5, 79);
  w.look();
  for (const std::int32_t code : {31, 43, 62, 109, 119}) {
    w.xid(kN0, 5, code);
    w.look(seconds(6));
  }
  w.xid(kN0, 1, 74);  // the other end of its link, too late to be one
  w.look();
  EXPECT_EQ(w.findings(), 2U);
  EXPECT_GT(w.open(FindingKind::gpu_lost)->evidence.size(), 1U);
}

TEST(Xid, TheVerdictBelongsToTheFaultBeforeIt) {
  Watch after, alone;
  after.xid(kN0, 5, 95);
  after.look();
  after.kernel.push_back(record(after, 5, 154, 0, 1));
  after.look();
  EXPECT_EQ(after.findings(), 1U);
  alone.kernel.push_back(record(alone, 5, 154, 0, 2));
  alone.look();
  ASSERT_NE(alone.open(FindingKind::gpu_fault), nullptr);
  alone.kernel.push_back(record(alone, 4, 154, 0, 0));
  alone.look();
  EXPECT_EQ(alone.findings(), 1U);
}

TEST(Xid, AChannelThatWasRemovedNamesItsCause) {
  Watch w;
  w.kernel.push_back(record(w, 5, 45, 94));
  w.kernel.push_back(record(w, 5, 45, 94));
  w.look();
  ASSERT_EQ(w.findings(), 1U);
  EXPECT_EQ(w.open(FindingKind::ecc_uncorrectable)->code, 94);
}

TEST(Xid, NvLink5SaysItselfWhetherItIsFatal) {
  Watch w;
  w.kernel.push_back(record(w, 5, 149));
  w.look();
  EXPECT_EQ(w.findings(), 0U);
  w.look(seconds(10));
  w.kernel.push_back(record(w, 5, 149));
  w.kernel.back().fatal = true;
  w.look();
  EXPECT_NE(w.open(FindingKind::nvlink_degraded), nullptr);
}

TEST(Suspect, ProgramsOfTwoJobsOnOneGpuAreAReasonToTestIt) {
  for (const bool same_gpu : {true, false}) {
    Watch w;
    for (int i = 0; i < 2; ++i) {
      const JobId job = w.t.running({kN0});
      w.xid(kN0, same_gpu || i == 0 ? 2 : 4, 31);
      w.look();
      w.everybody_reports();
      w.look(seconds(40));
      w.t.tell(JobEnded{job, 1, JobEnd::app_failed, {}, "exit 1"});
    }
    EXPECT_EQ(w.open(FindingKind::gpu_suspect) != nullptr, same_gpu);
  }
}

TEST(Suspect, AJobThatFailsOnAllItsGpusHasItselfToBlame) {
  Watch w;
  for (int i = 0; i < 3; ++i) {
    const JobId job = w.t.running({kN0});
    for (std::int16_t s = 0; s < 8; ++s) w.xid(kN0, s, 31);
    w.look();
    w.everybody_reports();
    w.look(seconds(40));
    w.t.tell(JobEnded{job, 1, JobEnd::app_failed, {}, "exit 1"});
  }
  EXPECT_EQ(w.open(FindingKind::gpu_suspect), nullptr);
}

TEST(Xids, WhatAsksForNoActAndWhatNobodyKnowsIsShownAndLeadsToNothing) {
  for (const std::int32_t code : {44, 159, 165, 177, 999}) {
    Watch w;
    w.xid(kN0, 2, code);
    w.look();
    const Finding* f = w.open(FindingKind::xid_other);
    ASSERT_NE(f, nullptr) << code;
    EXPECT_EQ(f->code, code);
  }
  Watch w;
  for (const std::int32_t retired : {1, 52, 106}) w.xid(kN0, 2, retired);
  w.look();
  EXPECT_EQ(w.findings(), 0U);
  EXPECT_FALSE(find_runbook(default_policy(), FindingKind::xid_other)->act);
}

}  // namespace
}  // namespace muster::detect
