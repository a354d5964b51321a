// How many jobs meet both versions, held against every order in which nodes can have their turn.
#include "fleet/upgrade_exposure.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <map>
#include <set>

namespace muster::fleet {
namespace {

Site site_of(std::uint32_t nodes, std::uint32_t in_domain) {
  Site site;
  for (std::uint32_t n = 0; n < nodes; ++n) {
    NodeSpec x;
    x.name = "n" + std::to_string(n);
    x.domain = n / in_domain;
    site.nodes.push_back(x);
  }
  return site;
}

UpgradePlan plan_of(const Site& site, std::uint32_t from, std::uint32_t to) {
  UpgradePlan plan;
  for (std::uint32_t n = from; n < to; ++n) plan.nodes.push_back(site.nodes[n].name);
  plan.canaries_wanted = 1;
  plan.waves = {{50, (to - from) / 2 - 1}, {100, to - from - (to - from) / 2}};
  plan.apart.push_back({"all ranks need one", "C036", "init.cc", {}, {}, {}});
  return plan;
}

TEST(Exposure, OneCanaryMeetsOneJobAndNobodyIsOnBothSidesWhenAllNodesHaveIt) {
  const Site site = site_of(16, 1);
  const UpgradePlan plan = plan_of(site, 0, 16);
  const std::vector<JobNow> jobs = {{{"n0", "n1", "n2", "n3"}, 0}, {{"n4", "n5"}, 0}, {{"n6"}, 0}, {{}, 12}, {{}, 4}};
  const Exposure e = exposure_of(plan, site, jobs, true, 2);
  EXPECT_EQ(e.running, 3U);
  EXPECT_EQ(e.several, 2U) << "one has a single node";
  EXPECT_EQ(e.both_now, 0U);
  ASSERT_EQ(e.steps.size(), 3U);
  EXPECT_EQ(e.steps[0].with_it, 1U);
  EXPECT_EQ(e.steps[0].jobs_most, 1U);
  EXPECT_EQ(e.steps[1].with_it, 8U);
  EXPECT_EQ(e.steps[1].jobs_most, 2U);
  EXPECT_EQ(e.steps[2].jobs_most, 0U);
  EXPECT_EQ(e.waiting, 2U);
  EXPECT_EQ(e.side_nodes, 7U) << "two of sixteen are away";
  EXPECT_EQ(e.too_large, 1U);
}

TEST(Exposure, WithinDomainsOnlyNodesOfOneDomainCountAndWhoToldOnlyOfRunningJobsToldOfNoWaitingOnes) {
  const Site site = site_of(16, 4);
  UpgradePlan plan = plan_of(site, 0, 16);
  plan.apart_within = ApartWithin::domain;
  const std::vector<JobNow> jobs = {{{"n0", "n4", "n8", "n12"}, 0}, {{"n1", "n2"}, 0}};
  const Exposure e = exposure_of(plan, site, jobs, false, 2);
  EXPECT_EQ(e.several, 1U) << "the other has one node in each of four domains";
  EXPECT_EQ(e.steps[1].jobs_most, 1U);
  EXPECT_FALSE(e.waiting.has_value());
}

TEST(Exposure, NodesThatHaveItAlreadyOrAreLeftOutAreSidesTooAndThoseWithoutThePartAreNone) {
  const Site site = site_of(16, 1);
  UpgradePlan plan = plan_of(site, 4, 12);
  for (std::uint32_t n = 0; n < 4; ++n) plan.done.push_back(site.nodes[n].name);
  plan.lacking = {"n15"};
  const std::vector<JobNow> jobs = {
      {{"n0", "n12"}, 0}, {{"n0", "n4"}, 0}, {{"n5", "n12"}, 0}, {{"n6", "n15"}, 0}, {{"n12", "n13"}, 0}};
  const Exposure e = exposure_of(plan, site, jobs, true, 1);
  EXPECT_EQ(e.several, 4U) << "with n15 nothing is mixed";
  EXPECT_EQ(e.both_now, 2U);
  EXPECT_EQ(e.steps.back().jobs_most, 2U) << "n0 with n12, and n5 with n12, which stays as it is";
}

// Every choice of so many planned nodes.
std::uint32_t by_all_orders(const UpgradePlan& plan, const Site& site, const std::vector<JobNow>& jobs, std::uint32_t with) {
  const auto planned = static_cast<std::uint32_t>(plan.nodes.size());
  std::map<std::string, std::uint32_t> domain;
  for (const NodeSpec& n : site.nodes) domain[n.name] = n.domain;
  std::uint32_t most = 0;
  for (std::uint32_t mask = 0; mask < 1U << planned; ++mask) {
    if (static_cast<std::uint32_t>(std::popcount(mask)) != with) continue;
    std::set<std::string> has(plan.done.begin(), plan.done.end());
    for (std::uint32_t k = 0; k < planned; ++k) {
      if ((mask >> k & 1) != 0) has.insert(plan.nodes[k]);
    }
    std::uint32_t both = 0;
    for (const JobNow& j : jobs) {
      std::map<std::uint32_t, std::set<bool>> seen;
      for (const std::string& n : j.nodes) {
        if (std::find(plan.lacking.begin(), plan.lacking.end(), n) != plan.lacking.end()) continue;
        seen[plan.apart_within == ApartWithin::domain ? domain.at(n) : 0].insert(has.count(n) != 0);
      }
      both += std::any_of(seen.begin(), seen.end(), [](const auto& x) { return x.second.size() > 1; }) ? 1 : 0;
    }
    most = std::max(most, both);
  }
  return most;
}

RC_GTEST_PROP(ExposureProperty, TheBoundIsWhatTheWorstOrderOfTurnsGives, ()) {
  const auto nodes = *rc::gen::inRange<std::uint32_t>(2, 13);
  const Site site = site_of(nodes, *rc::gen::inRange<std::uint32_t>(1, 5));
  UpgradePlan plan;
  plan.apart_within = *rc::gen::element(ApartWithin::job, ApartWithin::domain);
  std::vector<JobNow> jobs(*rc::gen::inRange<std::size_t>(1, 6));
  for (const NodeSpec& n : site.nodes) {
    const int what = *rc::gen::inRange(0, 8);
    if (what == 0) plan.done.push_back(n.name);
    if (what == 1) plan.lacking.push_back(n.name);
    if (what > 2) plan.nodes.push_back(n.name);
    const auto job = *rc::gen::inRange<std::size_t>(0, jobs.size() + 1);  // the last: idle
    if (job < jobs.size()) jobs[job].nodes.push_back(n.name);
  }
  std::erase_if(jobs, [](const JobNow& j) { return j.nodes.empty(); });
  const auto planned = static_cast<std::uint32_t>(plan.nodes.size());
  if (planned == 0) return;
  plan.canaries_wanted = *rc::gen::inRange<std::uint32_t>(1, planned + 1);
  if (plan.canaries_wanted < planned) plan.waves.push_back({100, planned - plan.canaries_wanted});
  const Exposure e = exposure_of(plan, site, jobs, true, 1);
  for (const Exposure::Step& s : e.steps) RC_ASSERT(s.jobs_most == by_all_orders(plan, site, jobs, s.with_it));
}

}  // namespace
}  // namespace muster::fleet
