#include "report/job_ranks.h"

#include <gtest/gtest.h>

#include "ingest/json.h"
#include "model/story.h"
#include "report/units.h"

namespace muster::report {
namespace {

class JobRanks : public ::testing::Test {
 protected:
  JobRanks() : readings(t.s.site.gpus(), RankReading{1980, 60, 600, 100, 0.5F, 4000}) {}
  const Job& job() const { return t.s.jobs.at(id); }
  Value told() const { return parse_json(job_ranks_json(t.s, job(), readings)).value(); }

  Story t{8};
  JobId id = t.running({NodeId{1}, NodeId{2}, NodeId{5}});
  std::vector<RankReading> readings;
};

TEST_F(JobRanks, AreCountedNodeByNodeAndTheOddOneComesFirst) {
  readings[2 * 8 + 3].sm_clock_mhz = 1200;
  const Value v = told();
  EXPECT_EQ(text_of(v, "ranks"), "24");
  EXPECT_EQ(text_of(v, "read"), "24");
  const Value& first = list_of(v, "rows").at(0);
  EXPECT_EQ(text_of(first, "rank"), "11");
  EXPECT_EQ(text_of(first, "node"), "n2");
  EXPECT_EQ(text_of(first, "gpu_slot"), "3");
  EXPECT_EQ(text_of(first, "stands_out"), "true");
  EXPECT_NE(text_of(first, "why").find("1200 MHz"), std::string::npos);
  EXPECT_EQ(text_of(v, "letters"), "00000000000~000000000000");
  EXPECT_NE(say_job_ranks(v).find("rank 11 (n2 GPU 3)"), std::string::npos);
  EXPECT_EQ(*number_of(v, "power_w"), 24 * 600);
}

TEST_F(JobRanks, WhoComesLastToCollectivesIsInThemTheShortest) {
  readings[5 * 8].collective_us = 3000;
  const Value v = told();
  EXPECT_EQ(text_of(list_of(v, "rows").at(0), "rank"), "16");
  EXPECT_NE(text_of(list_of(v, "rows").at(0), "why").find("comes to them last"), std::string::npos);
}

TEST_F(JobRanks, WithoutReadingsNothingIsSaidOfThem) {
  readings.clear();
  const Value v = told();
  EXPECT_EQ(text_of(v, "read"), "0");
  EXPECT_EQ(text_of(v, "letters"), std::string(24, '-'));
  EXPECT_TRUE(list_of(v, "rows").at(0).find("behind")->is_null());
  EXPECT_EQ(say_job_ranks(v), "");
}

TEST_F(JobRanks, AFewPeersAreNoGang) {
  const JobId small = t.submit(1);
  t.tell(JobStarted{small, 1, {NodeId{0}}, {0x0f}});
  const RankTable table = study_ranks(t.s, t.s.jobs.at(small), readings);
  ASSERT_EQ(table.ranks.size(), 4u);
  EXPECT_LT(table.ranks[0].behind, 0);
}

TEST_F(JobRanks, ThePlacementIsCountedAgain) {
  const Value v = told();
  const Value* p = v.find("placement");
  ASSERT_NE(p, nullptr);
  EXPECT_EQ(text_of(*p, "leaves"), "2");
  EXPECT_EQ(text_of(*p, "domains"), "3");
  EXPECT_EQ(text_of(*p, "certified"), "false");
  EXPECT_EQ(text_of(list_of(*p, "by_leaf").at(0), "nodes"), "n[1-2]");
  EXPECT_EQ(text_of(list_of(*p, "by_leaf").at(1), "nodes"), "n5");
}

}  // namespace
}  // namespace muster::report
