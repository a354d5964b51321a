// What gangs run in, as nodes of the twin tell it.
#include <gtest/gtest.h>

#include "model/job_environment.h"
#include "twin/first_fit.h"
#include "twin/twin.h"

namespace muster::twin {
namespace {

// Days of small jobs, and all that nodes told of them.
std::vector<JobDescribed> told_in(Config c, Duration length, std::uint64_t* jobs_started = nullptr) {
  Twin twin(c);
  FirstFit driver(twin, c.site.nodes.size());
  std::vector<JobDescribed> out;
  const Time end = twin.now().steady + length;
  while (twin.now().steady < end) {
    driver.turn();
    for (const Arrival& a : driver.inbox.events) {
      if (const auto* d = std::get_if<JobDescribed>(&a.body)) out.push_back(*d);
      if (jobs_started != nullptr && std::holds_alternative<JobStarted>(a.body)) ++*jobs_started;
    }
  }
  EXPECT_TRUE(driver.dense);
  return out;
}

Config busy(bool tell) {
  Config c = plain_config(16, 3);
  c.workload.mix.clear();
  for (int i = 0; i < 80; ++i) {
    JobSpec j;
    j.name = "train-" + std::to_string(i);
    j.account = i % 2 == 0 ? "lab" : "shop";
    j.nodes = 4;
    j.steps = 600;
    c.workload.jobs.push_back({minutes(30 * i), j, {}});
  }
  c.job_environments = tell;
  return c;
}

TEST(TwinEnvironments, EachNodeOfAnAttemptTellsItOnceInFullOrAsTheSameAsAnother) {
  std::uint64_t started = 0;
  const auto all = told_in(busy(true), hours(48), &started);
  ASSERT_GT(all.size(), 40U);
  ASSERT_GT(started, 10U);
  std::map<std::pair<JobId, std::uint32_t>, std::map<NodeId, Facts>> runs;
  std::set<std::string> digests;
  std::size_t split = 0, same = 0;
  for (const JobDescribed& d : all) EXPECT_TRUE((runs[{d.job, d.attempt}].emplace(d.node, d.facts).second));
  for (const auto& [run, nodes] : runs) {
    std::size_t full = 0;
    for (const auto& [node, facts] : nodes) {
      const bool like = facts.size() == 1 && facts[0].first == kSameAsNode;
      same += like ? 1 : 0;
      full += like ? 0 : 1;
      for (const auto& [what, value] : facts) {
        if (what == "image.digest") digests.insert(value);
      }
    }
    EXPECT_GE(full, 1U);
    split += full > 1 ? 1 : 0;
  }
  EXPECT_GT(same, 0U);
  EXPECT_GT(split, 0U) << "some nodes have an old image";
  EXPECT_GT(digests.size(), 2U) << "runs differ";
}

TEST(TwinEnvironments, ToldOnlyWhereAskedFor) { EXPECT_TRUE(told_in(busy(false), hours(12)).empty()); }

}  // namespace
}  // namespace muster::twin
