// Xids as exporters tell of them: the last code of a GPU, which stays, and counts of the last minutes.
#include <gtest/gtest.h>

#include "detect/watch.h"
#include "detect/xid.h"

namespace muster::detect {
namespace {

// One page that shows `code` as the GPU's last Xid.
void page(Watch& w, double code, Duration later = seconds(30), std::int16_t slot = 3) {
  w.sample(kN0, slot, Field::xid_last, code);
  w.everybody_reports();
  w.look(later);
}

// One page with a count of `code`, and with the last Xid that goes with it.
void count(Watch& w, double code, double n, double last) {
  w.sample(kN0, 3, Field::xid_count, xid_count_value(code, n));
  page(w, last);
}

TEST(XidTold, AChangeOpensWhatTheKernelsRecordWould) {
  const std::pair<std::int32_t, FindingKind> kMeans[] = {{79, FindingKind::gpu_lost},
                                                         {48, FindingKind::ecc_uncorrectable},
                                                         {63, FindingKind::row_remap_pending},
                                                         {119, FindingKind::gsp_timeout},
                                                         {31, FindingKind::app_error}};
  for (const auto& [code, kind] : kMeans) {
    for (const double before : {0.0, 13.0}) {
      Watch w;
      page(w, before);
      EXPECT_EQ(w.findings(), 0U);
      page(w, code);
      const Finding* f = w.open(kind);
      ASSERT_NE(f, nullptr) << code;
      EXPECT_EQ(w.findings(), 1U);
      EXPECT_EQ(f->slot, 3);
      EXPECT_EQ(f->code, code);
      EXPECT_EQ(f->severity == Severity::info, kind == FindingKind::app_error);
      ASSERT_EQ(f->evidence.size(), 1U);
      EXPECT_EQ(f->evidence[0].witness, Witness::scrape);
    }
  }
}

TEST(XidTold, WhatStandsThereAtFirstMayBeMonthsOld) {
  Watch w;
  for (int i = 0; i < 20; ++i) page(w, 79);
  EXPECT_EQ(w.findings(), 0U);
  w.restart();  // and so for a controller that begins anew
  for (int i = 0; i < 3; ++i) page(w, 79);
  EXPECT_EQ(w.findings(), 0U);
  page(w, 79, hours(2));  // a series that was away
  page(w, 119, hours(2));
  EXPECT_EQ(w.findings(), 0U) << "came at any time in two hours";
  page(w, 48);
  EXPECT_NE(w.open(FindingKind::ecc_uncorrectable), nullptr);
}

TEST(XidTold, AnExporterThatStartsAnewBringsNoNews) {
  Watch w;
  page(w, 79);
  page(w, 0);
  page(w, 0);
  page(w, 79);
  EXPECT_EQ(w.findings(), 0U) << "within minutes";
  page(w, 79, minutes(10));
  EXPECT_EQ(w.findings(), 0U) << "ten minutes without a word, and the same";
  for (int i = 0; i < 20; ++i) page(w, 0);
  page(w, 79);
  EXPECT_NE(w.open(FindingKind::gpu_lost), nullptr) << "ten minutes after it was gone";
}

TEST(XidTold, TwoExportersOfOneGpuDoNotContradictEachOther) {
  Watch w;
  for (int i = 0; i < 20; ++i) page(w, i % 2 == 0 ? 79 : 0);
  EXPECT_EQ(w.findings(), 0U);
  for (int i = 0; i < 4; ++i) page(w, i % 2 == 0 ? 79 : 13);
  EXPECT_EQ(w.findings(), 1U);
  EXPECT_NE(w.open(FindingKind::app_error), nullptr) << "13 is news, 79 is not";
}

TEST(XidTold, OneFaultSeenTwiceHasTwoWitnesses) {
  for (const bool kernel_first : {true, false}) {
    Watch w;
    page(w, 0);
    if (kernel_first) w.xid(kN0, 3, 79);
    w.look(seconds(5));
    page(w, 79, seconds(25));
    if (!kernel_first) w.xid(kN0, 3, 79);
    w.look(seconds(1));
    ASSERT_EQ(w.findings(), 1U) << kernel_first;
    const Finding* f = w.open(FindingKind::gpu_lost);
    ASSERT_NE(f, nullptr);
    EXPECT_EQ(f->evidence.size(), 2U);
    EXPECT_TRUE(has_witness_beyond_log(*f));
  }
}

TEST(XidTold, AConsequenceThatHidesTheFaultSpeaksForIt) {
  Watch w;
  page(w, 0);
  w.xid(kN0, 3, 48);
  w.look(seconds(2));
  w.xid(kN0, 3, 43);
  w.look(seconds(1));
  page(w, 43, seconds(40));  // all the page has room for
  ASSERT_EQ(w.findings(), 1U);
  EXPECT_EQ(w.open(FindingKind::ecc_uncorrectable)->evidence.back().witness, Witness::scrape);
  page(w, 31, minutes(5));
  EXPECT_NE(w.open(FindingKind::app_error), nullptr) << "not one of five minutes later";
}

TEST(XidTold, NumbersThatLeaveOutWhatMattersStartNothing) {
  Watch w;
  page(w, 0);
  for (const double code : {45.0, 154.0, 144.0, 149.0, 150.0, 7.0, 1000.0}) page(w, code);
  EXPECT_EQ(w.findings(), 0U);
  w.sample(kN0, -1, Field::xid_last, 79);
  w.sample(kN0, 3, Field::xid_last, -79);
  w.look();
  EXPECT_EQ(w.findings(), 0U);
}

TEST(XidTold, ACountThatRisesIsARepeatOfTheSameCode) {
  Watch w;
  for (int i = 0; i < 3; ++i) count(w, 94, 1, 94);
  EXPECT_EQ(w.findings(), 0U) << "of the minutes before the first look";
  for (int i = 0; i < 12; ++i) count(w, 94, 0, 94);
  EXPECT_EQ(w.findings(), 0U) << "falls by itself";
  count(w, 94, 1, 94);
  ASSERT_NE(w.open(FindingKind::ecc_uncorrectable), nullptr);
  EXPECT_EQ(w.findings(), 1U);
}

TEST(XidTold, ACodeThatIsCountedForTheFirstTimeIsNewsOnlyWhereTheGpuWasWatched) {
  Watch w;
  count(w, 31, 2, 31);
  count(w, 13, 1, 31);  // another exporter's page, in the first minutes
  EXPECT_EQ(w.findings(), 0U);
  for (int i = 0; i < 12; ++i) page(w, 31);
  count(w, 94, 1, 31);
  EXPECT_NE(w.open(FindingKind::ecc_uncorrectable), nullptr);
}

TEST(XidTold, AProgramsErrorsAreNotHeldAgainstTheGpu) {
  Watch w;
  page(w, 0);
  for (int i = 0; i < 40; ++i) page(w, i % 2 == 0 ? 13 : 31, minutes(6));
  for (const auto& [id, f] : w.t.s.findings) EXPECT_EQ(f.kind, FindingKind::app_error);
  EXPECT_GT(w.findings(), 0U);
}

}  // namespace
}  // namespace muster::detect
