#include "ingest/op_trace.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

constexpr std::string_view kTable =
    "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc\n0,0,0,16,backward-compute,2.688,0.854,0,0,0,0\r\n"
    "1,3,7,16,forward-send,4.0969,8.4e-4,-1,0,1,0\n";

TEST(OpTrace, ATable) {
  const auto t = parse_op_trace(kTable, "t.csv");
  ASSERT_TRUE(t) << t.error().what;
  ASSERT_EQ(t->ops.size(), 2U);
  EXPECT_EQ(t->dp, 2U);
  EXPECT_EQ(t->stages, 4U);
  EXPECT_EQ(t->types, (std::vector<std::string>{"backward-compute", "forward-send"}));
  EXPECT_DOUBLE_EQ(t->ops[1].length_s, 8.4e-4);
  EXPECT_EQ(t->ops[1].seq, -1);
  EXPECT_TRUE(looks_like_op_trace(kTable));
  EXPECT_FALSE(looks_like_op_trace("timestamp,num_gpus\n1,2\n"));
}

TEST(OpTrace, WhatIsWrongIsSaidWithItsLine) {
  const auto what = [](std::string text) { return parse_op_trace(text, "t").error().what; };
  EXPECT_EQ(what(""), "t:1: it is empty");
  EXPECT_EQ(what("dp_rank,stage,step,optype,start_ts,duration\n"), "t:1: there is no column seq_id");
  EXPECT_EQ(what(std::string(kTable) + "1,2\n"), "t:4: not as many cells as columns");
  EXPECT_EQ(what(std::string(kTable) + "0,0,0,16,x,nan,1,0,0,0,0\n"), "t:4: a number that is none, or beyond all measure");
  EXPECT_EQ(what(std::string(kTable) + "0,0,0,16,x,1,-1,0,0,0,0\n"), "t:4: a number that is none, or beyond all measure");
}

TEST(OpTrace, TheDescriptionMustAgree) {
  const auto t = parse_op_trace(kTable, "t.csv");
  EXPECT_TRUE(check_job_meta("trial_name: X\ndp_size: 2\npp_size: 4\n", "m.yaml", *t));
  EXPECT_EQ(check_job_meta("dp_size: 3\npp_size: 4\n", "m.yaml", *t).error().what, "m.yaml: dp_size is 3, the trace has 2");
  EXPECT_EQ(check_job_meta("dp_size: many\npp_size: 4\n", "m.yaml", *t).error().what,
            "m.yaml: dp_size must be a whole number above 0");
}

}  // namespace
}  // namespace muster
