#include "decide/outlook.h"

#include <gtest/gtest.h>

#include <functional>

#include "decide/never.h"
#include "decide/waiting.h"
#include "model/job_check.h"
#include "model/story.h"

namespace muster::decide {
namespace {

JobId submit(Story& t, std::uint32_t nodes, const std::function<void(JobSpec&)>& more = {}) {
  JobSpec spec;
  spec.name = "timed";
  spec.account = "lab";
  spec.nodes = nodes;
  spec.init_s = 0;
  spec.step_s = 1;
  spec.steps = 600;
  if (more) more(spec);
  const JobId id{static_cast<std::uint32_t>(t.s.totals.jobs_submitted + 1), 0};
  t.tell(JobSubmitted{id, spec});
  return id;
}

Policy limited(std::uint32_t gpus) {
  Policy p = default_policy();
  QueueSpec lab;
  lab.name = "lab";
  lab.limit_gpus = gpus;
  p.queues = {lab};
  return p;
}

const Forecast* find(const std::vector<Forecast>& all, JobId id) {
  for (const Forecast& f : all) {
    if (f.id == id) return &f;
  }
  return nullptr;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(Outlook, WhoIsHeldBackByItsQuotaIsNotExpectedNow) {
  Story t(8, limited(16));
  const JobId runs = submit(t, 2);
  t.tell(JobStarted{runs, 1, {NodeId{0}, NodeId{1}}});
  const JobId held = submit(t, 1);
  EXPECT_EQ(find(forecasts(t.s), held), nullptr);
  const std::string why = why_not_started(t.s, held);
  EXPECT_TRUE(has(why, "lab has 16 of 16 GPUs taken")) << why;
  EXPECT_TRUE(has(why, "; not before 2026-01-01T00:")) << why;  // when the run of ten minutes ends
}

TEST(Outlook, OfThoseThatWouldStartOnlyAsManyAsTheQuotaLetsAreExpectedNow) {
  Story t(8, limited(16));
  std::vector<JobId> jobs;
  for (int i = 0; i < 3; ++i) jobs.push_back(submit(t, 1));
  const std::vector<Forecast> all = forecasts(t.s);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(find(all, jobs[1])->at, t.s.mono());
  EXPECT_EQ(find(all, jobs[2])->at, kNever);
  EXPECT_TRUE(has(find(all, jobs[2])->held, "lab has 16 of 16 GPUs taken")) << find(all, jobs[2])->held;
  EXPECT_TRUE(has(why_not_started(t.s, jobs[2]), "it does not start now: ")) << why_not_started(t.s, jobs[2]);
}

TEST(Outlook, WhoFollowsAnotherIsToldWhenThatMayEnd) {
  Story t(8);
  const JobId first = submit(t, 1);
  t.tell(JobStarted{first, 1, {NodeId{0}}});
  const JobId next = submit(t, 1, [&](JobSpec& s) { s.after = {first}; });
  const std::string why = why_not_started(t.s, next);
  EXPECT_TRUE(has(why, "it follows job 1, which has not completed; not before ")) << why;
}

TEST(Outlook, WhatWouldMakeItSoonerIsWithinTheQuota) {
  const auto sooner = [](std::uint32_t limit) {
    Story t(8, limited(limit));
    const JobId runs = submit(t, 2, [](JobSpec& s) { s.account = "others"; });
    t.tell(JobStarted{runs, 1, {NodeId{0}, NodeId{1}}});
    const JobId own = submit(t, 1);
    t.tell(JobStarted{own, 1, {NodeId{2}}});
    const JobId waits = submit(t, 6);
    std::string out;
    const std::vector<Forecast> all = forecasts(t.s);
    const Forecast* f = find(all, waits);
    for (const Sooner& x : f == nullptr ? std::vector<Sooner>{} : f->sooner) out += x.words + ";";
    return out;
  };
  EXPECT_TRUE(has(sooner(64), "fits now with 5 nodes instead of 6")) << sooner(64);
  EXPECT_TRUE(has(sooner(56), "fits now with 5 nodes instead of 6")) << sooner(56);
  EXPECT_EQ(sooner(48), "");  // held back: it is told so, and nothing else
}

TEST(Outlook, ARunThatStartsNowCountsAgainstTheRemediesOfOthers) {
  Story t(8, limited(56));
  const JobId runs = submit(t, 2, [](JobSpec& s) { s.account = "others"; });
  t.tell(JobStarted{runs, 1, {NodeId{0}, NodeId{1}}});
  const JobId small = submit(t, 2);
  const JobId waits = submit(t, 5);
  const std::vector<Forecast> all = forecasts(t.s);
  ASSERT_NE(find(all, small), nullptr);
  EXPECT_EQ(find(all, small)->at, t.s.mono());
  for (const Sooner& x : find(all, waits)->sooner) EXPECT_FALSE(has(x.words, "with 5")) << x.words;
}

TEST(Outlook, AJobThatNoPowerCapLetsStartIsToldSo) {
  Site site = small_site(12);
  site.power_limit_kw = 60;  // a node counts for 9.6 busy and 2.4 at rest: 4 busy and 8 at rest are 57.6
  Story t(site);
  EXPECT_EQ(busy_at_once(t.s), 4U);
  const JobId giant = submit(t, 10);
  EXPECT_EQ(why_not_started(t.s, giant),
            "it can never start: a power cap of the site lets 4 nodes be busy at once, and it needs 10");
  EXPECT_EQ(find(forecasts(t.s), giant), nullptr);
  const JobId runs = submit(t, 3);
  t.tell(JobStarted{runs, 1, {NodeId{0}, NodeId{1}, NodeId{2}}});
  const JobId waits = submit(t, 4);
  EXPECT_TRUE(has(why_not_started(t.s, waits), "8 nodes are free, and a power cap of the site keeps them closed"))
      << why_not_started(t.s, waits);
  JobSpec parts;
  parts.gpus_per_node = 2;
  parts.nodes = 16;  // four to a node
  EXPECT_EQ(why_too_large(t.s, parts), "");
  parts.nodes = 17;
  EXPECT_NE(why_too_large(t.s, parts), "");
}

TEST(Outlook, SegmentsThatNoSetOfDomainsHoldsAreRefusedByTheirNumber) {
  Site site = small_site(36);
  for (std::uint32_t n = 0; n < 36; ++n) site.nodes[n].domain = n / 18;
  site.domains = 2;
  JobSpec spec;
  spec.nodes = 32;
  spec.segment = 16;
  EXPECT_EQ(problem_with(spec, &site), "");
  spec.nodes = 36;
  spec.segment = 12;
  EXPECT_EQ(problem_with(spec, &site),
            "nodes is 36 in segments of 12: of 3 segments at most 2 fit, each within one NVLink domain of at most 18");
  Story t(site);
  const JobId id = submit(t, 36, [](JobSpec& s) { s.segment = 12; });
  EXPECT_TRUE(has(why_not_started(t.s, id), "it can never start: nodes is 36 in segments of 12")) << why_not_started(t.s, id);
}

}  // namespace
}  // namespace muster::decide
