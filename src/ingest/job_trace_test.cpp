#include "ingest/job_trace.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(JobTrace, ColumnsAreFoundByNameAndJobsPutInOrder) {
  const auto t = parse_job_trace(
      "cluster,duration,timestamp,num_gpus\n"
      "a,66.5,2017-10-09 07:01:55,1\n"
      "b,10,2017-10-09 07:01:50,8\r\n",
      "t.csv");
  ASSERT_TRUE(t) << t.error().what;
  ASSERT_EQ(t->jobs.size(), 2U);
  EXPECT_EQ(t->jobs[0].gpus, 8U);
  EXPECT_EQ(render_utc(t->jobs[0].submitted), "2017-10-09T07:01:50Z");
  EXPECT_EQ(t->jobs[1].run, milliseconds(66500));
}

TEST(JobTrace, SecondsWillDoAndMuriTracesAreInMilliseconds) {
  const auto t = parse_job_trace("submit_time,duration,gpus\n5,7,2\n", "t.csv");
  ASSERT_TRUE(t);
  EXPECT_EQ(t->jobs[0].submitted, Time{} + seconds(5));
  const auto m = parse_job_trace("num_gpu,submit_time,iterations,duration,iteration_time\n1,6000,3,9000,3\n", "m.csv");
  ASSERT_TRUE(m);
  EXPECT_TRUE(m->in_milliseconds && !t->in_milliseconds);
  EXPECT_EQ(m->jobs[0].submitted, Time{} + seconds(6));
  EXPECT_EQ(m->jobs[0].run, seconds(9));
}

TEST(JobTrace, JobsThatUsedNothingAreCountedAndLeftOut) {
  const auto t = parse_job_trace("timestamp,duration,num_gpus\n1,0,1\n1,5,0\n2,5,1\n", "t.csv");
  ASSERT_TRUE(t);
  EXPECT_EQ(t->jobs.size(), 1U);
  EXPECT_EQ(t->without_gpus, 1U);
  EXPECT_EQ(t->without_run, 1U);
}

TEST(JobTrace, WhatSacctPrintsIsATrace) {
  const auto t = parse_job_trace(
      "Submit|ElapsedRaw|AllocTRES|ReqTRES|State\n"
      "2026-11-16T05:40:10|600|billing=2,cpu=2,gres/gpu:h200=16,gres/gpu=16,mem=2000M,node=2|cpu=2,gres/gpu=16|COMPLETED\n"
      "2026-11-16T05:40:00|60||cpu=2,gres/gpu=8|CANCELLED by 0\n"
      "1794807610|0||cpu=2,gres/gpu=8|CANCELLED by 0\n"
      "1794807610|10|cpu=2,mem=2000M|cpu=2|FAILED\n",
      "jobs.txt");
  ASSERT_TRUE(t) << t.error().what;
  ASSERT_EQ(t->jobs.size(), 2U);
  EXPECT_EQ(t->jobs[0].gpus, 8U) << "what was asked for, where nothing is said of what was given";
  EXPECT_EQ(t->jobs[1].gpus, 16U);
  EXPECT_EQ(t->jobs[1].run, seconds(600));
  EXPECT_EQ(render_utc(t->jobs[1].submitted), "2026-11-16T05:40:10Z");
  EXPECT_EQ(t->without_gpus, 1U);
  EXPECT_EQ(t->without_run, 1U);
}

TEST(JobTrace, QuotesAndModelsAreRead) {
  const auto t = parse_job_trace(
      "# made by hand, \"quoted\n\"job, or so\",\"timestamp\",\"duration\",\"num_gpus\",\"gpu_model\"\r\n"
      "\"a, b\",\"2017-10-09 07:01:55\",\"66.5\",\"1\",\"H100\"\r\nc,2017-10-09 07:01:56,5,2,\n",
      "t.csv");
  ASSERT_TRUE(t) << t.error().what;
  ASSERT_EQ(t->jobs.size(), 2U);
  EXPECT_EQ(t->jobs[0].model, "H100");
  EXPECT_EQ(t->jobs[0].run, milliseconds(66500));
  EXPECT_EQ(t->jobs[1].model, "");
  const auto open = parse_job_trace("timestamp,duration,num_gpus\n1,\"2,1\n", "t.csv");
  ASSERT_FALSE(open);
  EXPECT_EQ(open.error().what, "t.csv:2: a quote is not closed");
}

TEST(JobTrace, AnOffsetBehindADateIsTakenOffAndGpuNumIsANumberOfGpus) {
  const auto t = parse_job_trace(
      "submit_time,duration,gpu_num\n2023-05-17 11:00:58+02:00,18,8\n2023-05-17T11:00:58.5-0530,18,8\n2023-05-17 11:00:58,18,8\n",
      "t.csv");
  ASSERT_TRUE(t) << t.error().what;
  ASSERT_EQ(t->jobs.size(), 3U);
  const Time utc = t->jobs[1].submitted;
  EXPECT_EQ(t->jobs[0].submitted, utc - hours(2));
  EXPECT_EQ(t->jobs[2].submitted, utc + hours(5) + minutes(30) + milliseconds(500));
  EXPECT_EQ(t->jobs[0].gpus, 8U);
  for (const char* wrong : {"2023-05-17 11:00:58+2", "2023-05-17 11:00:58+25:00", "2023-05-17 11:00:58+02:00x"})
    EXPECT_FALSE(parse_job_trace("timestamp,duration,num_gpus\n" + std::string(wrong) + ",1,1\n", "t.csv")) << wrong;
}

TEST(JobTrace, WhatIsWrongIsNamedWithItsLine) {
  const auto what = [](const char* text) {
    const auto t = parse_job_trace(text, "t.csv");
    return t ? std::string("fine") : t.error().what;
  };
  EXPECT_EQ(what("timestamp,duration\n1,2\n"),
            "t.csv:1: not a job trace: no column num_gpus (or num_gpu, gpus); there are timestamp, duration");
  EXPECT_EQ(what("timestamp,duration,num_gpus\n1,-2,1\n"), "t.csv:2: duration is negative: -2");
  EXPECT_EQ(what("timestamp,duration,num_gpus\n1,2,1\n\n1,two,1\n"), "t.csv:4: duration is 'two'");
  EXPECT_EQ(what("timestamp,duration,num_gpus\n1,2,1.5\n"), "t.csv:2: number of GPUs is '1.5'");
  EXPECT_EQ(what("timestamp,duration,num_gpus\n2017-13-01 00:00:00,2,1\n"), "t.csv:2: timestamp is '2017-13-01 00:00:00'");
  EXPECT_EQ(what("timestamp,duration,num_gpus\n2017-02-29 00:00:00,2,1\n"), "t.csv:2: timestamp is '2017-02-29 00:00:00'");
  EXPECT_EQ(what("timestamp,duration,num_gpus\n1,2\n"), "t.csv:2: 2 fields, the header has 3");
  EXPECT_EQ(what("timestamp,duration,num_gpus\n1,1e300,1\n"), "t.csv:2: duration is '1e300'");
  EXPECT_EQ(what("timestamp,duration,num_gpus\n1,nan,1\n"), "t.csv:2: duration is 'nan'");
  EXPECT_EQ(what(""), "t.csv: empty");
}

}  // namespace
}  // namespace muster
