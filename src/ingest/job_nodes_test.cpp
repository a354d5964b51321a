#include "ingest/job_nodes.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(JobNodes, a_line_is_a_job_with_its_nodes_in_order) {
  const auto jobs = parse_job_nodes("17 gpu[003-004,001]\n\ntrain: a,b  # the big one\nn[1-2]\n", "jobs");
  ASSERT_TRUE(jobs.has_value()) << jobs.error().what;
  ASSERT_EQ(jobs->size(), 3u);
  EXPECT_EQ((*jobs)[0].name, "17");
  EXPECT_EQ((*jobs)[0].nodes, (std::vector<std::string>{"gpu003", "gpu004", "gpu001"}));
  EXPECT_EQ((*jobs)[1].name, "train");
  EXPECT_EQ((*jobs)[1].nodes.size(), 2u);
  EXPECT_EQ((*jobs)[2].name, "line 4");
}

TEST(JobNodes, what_is_wrong_has_its_line) {
  const auto bad = parse_job_nodes("17 gpu[1-2]\n18 gpu[2-\n", "jobs");
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().what.substr(0, 7), "jobs:2:");
  const auto none = parse_job_nodes("# nothing\n", "jobs");  // an idle cluster
  ASSERT_TRUE(none.has_value());
  EXPECT_TRUE(none->empty());
}

TEST(JobNodes, a_job_that_waits_has_no_nodes) {
  const auto jobs = parse_job_nodes("44 gpu[1-2]\n45 \n46\n47_[1-3] \r\n48 (null)\n49:\n50 None assigned\ngpu7 \n", "jobs");
  ASSERT_TRUE(jobs.has_value()) << jobs.error().what;
  ASSERT_EQ(jobs->size(), 8u);
  const char* names[] = {"44", "45", "46", "47_[1-3]", "48", "49", "50", "line 8"};
  for (std::size_t i = 0; i < jobs->size(); ++i) {
    EXPECT_EQ((*jobs)[i].name, names[i]);
    EXPECT_EQ((*jobs)[i].nodes.size(), i == 0 ? 2u : i == 7 ? 1u : 0u) << names[i];
  }
}

}  // namespace
}  // namespace muster
