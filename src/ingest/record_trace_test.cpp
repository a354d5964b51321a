#include "ingest/record_trace.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

JobRecord record(std::int64_t submit_s, std::int64_t start_s, std::int64_t end_s, std::int64_t gpus_milli) {
  JobRecord r;
  r.state = RecordState::completed;
  r.submitted = r.eligible = Time{} + seconds(submit_s);
  r.started = Time{} + seconds(start_s);
  r.ended = Time{} + seconds(end_s);
  r.gpus_milli = gpus_milli;
  return r;
}

TEST(RecordTrace, JobsThatRanInOrderOfSubmissionWithTheirWaits) {
  std::vector<JobRecord> in = {record(500, 900, 1000, 8000), record(100, 100, 160, 500)};
  in[0].gpu_type = "h200";
  const RecordedTrace t = trace_of(in);
  ASSERT_EQ(t.trace.jobs.size(), 2U);
  EXPECT_EQ(t.trace.jobs[0].gpus, 1U);  // a share counts as one
  EXPECT_EQ(t.waits[0], Duration{});
  EXPECT_EQ(t.trace.jobs[1].model, "h200");
  EXPECT_EQ(t.trace.jobs[1].run, seconds(100));
  EXPECT_EQ(t.waits[1], seconds(400));
}

TEST(RecordTrace, WhatDidNotRunIsCountedAndLeftOut) {
  std::vector<JobRecord> in = {record(1, 2, 3, 0), record(1, 2, 3, 1000), record(1, 0, 9, 1000), record(1, 2, 2, 1000)};
  in[1].state = RecordState::running;
  const RecordedTrace t = trace_of(in);
  EXPECT_TRUE(t.trace.jobs.empty());
  EXPECT_EQ(t.trace.without_gpus, 1U);
  EXPECT_EQ(t.unfinished, 1U);
  EXPECT_EQ(t.trace.without_run, 2U);
}

TEST(RecordTrace, TheSameRunInTwoExportsIsOneAndARequeuedRunIsAnother) {
  std::vector<JobRecord> in = {record(1, 2, 3, 1000), record(1, 2, 3, 1000), record(1, 5, 9, 1000), record(1, 2, 3, 1000)};
  for (JobRecord& r : in) r.id.text = "17";
  in[3].cluster = "other";
  const RecordedTrace t = trace_of(in);
  EXPECT_EQ(t.trace.jobs.size(), 3U);
  EXPECT_EQ(t.repeated, 1U);
}

TEST(RecordTrace, AnEndBeforeTheStartIsNamedAsSuch) {
  const JobRecord r = record(100, 5000, 4000, 1000);
  const RecordedTrace t = trace_of(std::span(&r, 1));
  EXPECT_TRUE(t.trace.jobs.empty());
  EXPECT_EQ(t.sooner, 1U);
  EXPECT_EQ(t.trace.without_run, 0U);
}

TEST(RecordTrace, AJobThatMayStartOnlyLaterIsNotWaitingBefore) {
  JobRecord r = record(100, 5000, 6000, 1000);
  r.eligible = Time{} + seconds(4900);
  const RecordedTrace t = trace_of(std::span(&r, 1));
  EXPECT_EQ(t.waits[0], seconds(100));
  EXPECT_EQ(t.trace.jobs[0].submitted, Time{} + seconds(4900));
}

}  // namespace
}  // namespace muster
