#include "account/waterfall.h"

#include <gtest/gtest.h>

#include "base/civil.h"
#include "base/prng.h"
#include "model/story.h"

namespace muster::account {
namespace {

constexpr NodeId kN0{0}, kN1{1}, kN2{2}, kN3{3};
constexpr std::int64_t kNodeMinute = std::int64_t{8} * 60'000 * 1000;  // of all GPUs of a node

// A story whose books are kept by the accountant and, beside him, as a waterfall.
struct Kept {
  explicit Kept(std::uint32_t nodes = 4, Time from = Time{INT64_MIN}, Time to = kNever) : t(nodes), flow(from, to) {
    Event e;
    e.utc = t.now().utc;
    e.body = SiteDeclared{t.s.site};
    take(e);
    t.heard = [this](const Event& x) { take(x); };
  }
  Kept(const Kept&) = delete;
  void take(const Event& e) {
    keep(books, e, t.s);
    flow.take(e, t.s);
  }
  Flow now() const { return flow.close(t.s, t.s.mono(), t.s.now.utc); }
  std::int64_t of(SiteClass c) const { return now().sum()[c]; }

  Accounts books;
  Story t;
  Waterfall flow;
};

// Days that lie wholly in it have all of their milliseconds, to the thousandth of a GPU's.
void expect_whole_days(const Flow& f, const std::string& when = {}) {
  for (const auto& [day, x] : by_day(f)) {
    if (begin_of(day) < f.from || begin_of(day + 1) > f.to) continue;
    EXPECT_EQ(x.installed(), f.milli_gpus * 86'400'000) << when << ", day " << day;
  }
}

// Class by class the accountant's balance, in which idle is one; and what waits is what the state says.
void expect_exact(const Kept& k, const std::string& when = {}) {
  GpuHours all;
  const GpuHours g = balance(k.books, k.t.s, k.t.s.mono(), [&](const Entry& x) { all[x.waste] += x.amount; });
  for (std::size_t i = 0; i < kWasteClasses; ++i) all.ms[i] += k.books.settled.ms[i];
  const Flow f = k.now();
  const SiteSum s = f.sum();
  EXPECT_EQ(s.installed(), g.installed_ms * 1000) << when;
  EXPECT_EQ(s[SiteClass::idle_no_demand] + s[SiteClass::idle_fragmented], all[Waste::idle]) << when;
  EXPECT_EQ(s[SiteClass::down], all[Waste::down]) << when;
  EXPECT_EQ(s[SiteClass::drained], all[Waste::drained]) << when;
  EXPECT_EQ(s[SiteClass::starting], all[Waste::starting]) << when;
  EXPECT_EQ(s[SiteClass::checkpoint], all[Waste::checkpoint]) << when;
  EXPECT_EQ(s[SiteClass::stalled], all[Waste::slow]) << when;
  EXPECT_GE(s[SiteClass::unsettled], all[Waste::unsettled]) << when;
  EXPECT_EQ(s[SiteClass::useful] + s[SiteClass::lost_restart] + s[SiteClass::unseen] + s[SiteClass::unsettled],
            all[Waste::useful] + all[Waste::lost_restart] + all[Waste::unsettled])
      << when;
  SiteSum owners;
  std::int64_t jobs = 0;
  for (const auto& [key, x] : f.owners) {
    owners += x;
    for (const std::int64_t ms : x.milli_ms) EXPECT_GE(ms, 0) << when;
    if (key.first.job) jobs += x.installed();
  }
  EXPECT_EQ(owners, s) << when;
  std::int64_t by_job = 0;
  for (const auto& [id, j] : f.jobs) {
    for (const auto& [tariff, x] : j.by_tariff) by_job += x.installed();
  }
  EXPECT_EQ(by_job, jobs) << when;
  EXPECT_EQ(s.allocated(), jobs) << when;
  expect_whole_days(f, when);
}

std::int64_t waiting(const State& s) {
  std::int64_t sum = 0;
  for (const auto& [order, id] : s.queue) {
    const Job& j = s.jobs.at(id);
    if (ready(j) && j.paused_until <= s.mono()) sum += milli_gpus(s.site, j.spec);
  }
  return sum;
}

TEST(Waterfall, IdleTimeIsPartedByWhetherSomebodyWaits) {
  Kept k;
  k.t.pass(minutes(10));  // nobody
  const JobId j = k.t.submit(3);
  k.t.pass(minutes(5));  // 24 of 32 GPUs are wanted
  k.t.submit(2);
  k.t.pass(minutes(2));  // 40: more than there are
  EXPECT_EQ(k.of(SiteClass::idle_fragmented), kNodeMinute * (3 * 5 + 4 * 2));
  EXPECT_EQ(k.of(SiteClass::idle_no_demand), kNodeMinute * (4 * 10 + 1 * 5));
  k.t.tell(JobStarted{j, 1, {kN0, kN1, kN2}});
  k.t.pass(minutes(1));  // 8 GPUs are free, and 16 wanted
  EXPECT_EQ(k.of(SiteClass::idle_fragmented), kNodeMinute * (3 * 5 + 4 * 2 + 1));
  expect_exact(k);
}

TEST(Waterfall, WhoCannotBeginIsNoDemand) {
  Kept k;
  const JobId first = k.t.submit(1);
  const JobId id{900, 0};
  JobSpec spec;
  spec.after = {first};
  k.t.tell(JobSubmitted{id, spec});
  k.t.tell(JobStarted{first, 1, {kN0}});
  k.t.pass(minutes(3));
  EXPECT_EQ(k.of(SiteClass::idle_fragmented), 0) << "it waits for the other to complete";
  k.t.tell(JobEnded{first, 1, JobEnd::completed, {9, 9, 0, 0, 0}, {}});
  k.t.pass(minutes(3));
  EXPECT_EQ(k.of(SiteClass::idle_fragmented), kNodeMinute * 3) << "and then for room";
  spec.barred = "held in Slurm (JobHeldUser)";
  k.t.tell(JobAmended{id, spec});
  k.t.pass(minutes(3));
  EXPECT_EQ(k.of(SiteClass::idle_fragmented), kNodeMinute * 3);
  spec.barred = "Slurm places it: in partition gpu Muster only advises";
  k.t.tell(JobAmended{id, spec});
  k.t.pass(minutes(3));
  EXPECT_EQ(k.of(SiteClass::idle_fragmented), kNodeMinute * 6) << "who starts it does not matter";
  expect_exact(k);
}

TEST(Waterfall, WhatSaidNothingOfItsProgressIsUnseen) {
  Kept k;
  JobSpec nobody_knows;
  nobody_knows.checkpoint_every_s = -1;
  const JobId quiet{800, 0};
  k.t.tell(JobSubmitted{quiet, nobody_knows});
  k.t.tell(JobStarted{quiet, 1, {kN0}});
  const JobId tells = k.t.running({kN1});
  k.t.pass(minutes(10));
  k.t.tell(JobEnded{quiet, 1, JobEnd::completed, {}, {}});
  k.t.tell(JobEnded{tells, 1, JobEnd::completed, {100, 100, 0, 0, 0}, {}});
  EXPECT_EQ(k.of(SiteClass::unseen), kNodeMinute * 10);
  EXPECT_EQ(k.of(SiteClass::useful), kNodeMinute * 10);
  EXPECT_DOUBLE_EQ(k.now().sum().efficiency(), 1);
  expect_exact(k);
}

TEST(Waterfall, WorkThatNoCheckpointHoldsYetIsNotUseful) {
  Kept k;
  const JobId j = k.t.running({kN0});
  k.t.pass(minutes(60));
  k.t.tell(JobProgressed{j, 1, {60, 50, 0, 0, 0, 1}});  // 10 of 60 steps came while it was written
  EXPECT_EQ(k.of(SiteClass::useful), kNodeMinute * 50);
  EXPECT_EQ(k.of(SiteClass::unsettled), kNodeMinute * 10);
  k.t.pass(minutes(60));
  k.t.tell(JobProgressed{j, 1, {120, 110, 0, 0, 0, 2}});
  EXPECT_EQ(k.of(SiteClass::useful), kNodeMinute * 110);
  k.t.pass(minutes(5));
  k.t.tell(JobEnded{j, 1, JobEnd::node_failed, {125, 110, 0, 0, 0, 2}, {}});
  EXPECT_EQ(k.of(SiteClass::useful), kNodeMinute * 110);
  EXPECT_EQ(k.of(SiteClass::lost_restart), kNodeMinute * 15) << "and lost with the attempt";
}

TEST(Waterfall, AHeldNodeThatDoesNotAnswerIsDown) {
  Kept k;
  const IncidentId i = k.t.open(k.t.find(FindingKind::node_silent, kN0));
  k.t.drained(kN0, i);
  k.t.drained(kN1, {}, "wish");
  k.t.pass(minutes(3));
  EXPECT_EQ(k.of(SiteClass::down), kNodeMinute * 3);
  EXPECT_EQ(k.of(SiteClass::drained), kNodeMinute * 3);
}

TEST(Waterfall, WorkLiesOnTheDaysItWasDoneOn) {
  Kept k;  // from midnight on
  const JobId j = k.t.running({kN0});
  k.t.pass(hours(18));
  k.t.pass(hours(18));
  k.t.tell(JobProgressed{j, 1, {100, 100, 0, 0, 0}});
  const auto days_of_it = by_day(k.now());
  ASSERT_EQ(days_of_it.size(), 2U);
  EXPECT_EQ(days_of_it.begin()->second[SiteClass::useful], kNodeMinute * 24 * 60);
  EXPECT_EQ(days_of_it.rbegin()->second[SiteClass::useful], kNodeMinute * 12 * 60);
  EXPECT_TRUE(whole_day(k.now(), days_of_it.begin()->first));
  EXPECT_FALSE(whole_day(k.now(), days_of_it.rbegin()->first));
  expect_exact(k);
}

TEST(Waterfall, EveryDayHasAllOfItsTimeHoweverJobsTellOfIt) {
  Kept k;
  const JobId a = k.t.running({kN0, kN1}), b = k.t.running({kN2});
  Progress pa, pb;
  for (std::int64_t i = 1; i <= 60; ++i) {  // never at midnight, nor at a whole millisecond
    k.t.pass(milliseconds(7'654'321) + nanoseconds(333'333));
    pa.steps += 1000;
    pa.durable_steps = pa.steps - 290;
    pa.checkpoint_ms += 31'007;
    pa.slow_ms += 1'234'567;
    k.t.tell(JobProgressed{a, 1, pa});
    if (i % 7 != 0) continue;
    pb.steps += 500;  // no checkpoint at all
    k.t.tell(JobProgressed{b, 1, pb});
  }
  const Flow f = k.now();
  ASSERT_GE(by_day(f).size(), 6U);
  EXPECT_GT(f.sum()[SiteClass::unsettled], 0);
  expect_exact(k);
  k.t.tell(JobEnded{b, 1, JobEnd::node_failed, pb, {}});
  expect_exact(k);
}

TEST(Waterfall, AnAccountBetweenTwoMomentsIsAsLongAsTheyAreApart) {
  const Time begin = Story(1).now().utc;
  Kept k(4, begin + hours(10), begin + hours(58));
  const JobId j = k.t.running({kN0});
  Progress p;
  for (int i = 0; i < 30; ++i) {
    k.t.pass(milliseconds(9'000'001) + nanoseconds(777'777));
    p.steps += 100;
    p.durable_steps = p.steps - 37;
    k.t.tell(JobProgressed{j, 1, p});
  }
  EXPECT_EQ(k.now().sum().installed(), kNodeMinute * 4 * 48 * 60);
}

TEST(Waterfall, ThePriceIsThatOfTheTime) {
  Kept k;
  Policy p = k.t.s.policy;
  p.gpu_hour_price = 2;
  k.t.tell(PolicyApplied{p, "h2"});
  const JobId j = k.t.running({kN0});
  k.t.pass(hours(3));
  p.gpu_hour_price = 5;
  k.t.tell(PolicyApplied{p, "h5"});
  k.t.pass(hours(1));
  k.t.tell(JobEnded{j, 1, JobEnd::completed, {100, 100, 0, 0, 0}, {}});  // booked under the later one, all of it
  const Flow f = k.now();
  ASSERT_EQ(f.tariffs.size(), 2U) << "the first began with the record";
  EXPECT_EQ(f.tariffs[0].price, 2);
  const JobFlow& x = f.jobs.at(j);
  EXPECT_EQ(x.by_tariff.at(0)[SiteClass::useful], kNodeMinute * 180);
  EXPECT_EQ(x.by_tariff.at(1)[SiteClass::useful], kNodeMinute * 60);
  expect_exact(k);
}

TEST(Waterfall, OnlyWhatIsAskedForIsInIt) {
  const Time begin = Story(1).now().utc;
  Kept k(4, begin + minutes(30), begin + minutes(90));
  const JobId j = k.t.running({kN0});
  k.t.pass(minutes(120));
  k.t.tell(JobEnded{j, 1, JobEnd::completed, {100, 100, 0, 0, 0}, {}});
  k.t.pass(minutes(60));
  const Flow f = k.now();
  EXPECT_EQ(f.sum().installed(), kNodeMinute * 4 * 60);
  EXPECT_EQ(f.sum()[SiteClass::useful], kNodeMinute * 60) << "what it became after the end is known";
  EXPECT_EQ(f.from, begin + minutes(30));
  EXPECT_EQ(f.to, begin + minutes(90));
}

TEST(Waterfall, DaysInARowAtTheTarget) {
  Kept k;
  const JobId good = k.t.running({kN0});
  for (int d = 0; d < 5; ++d) {
    k.t.pass(hours(24));
    const auto ms = static_cast<std::int64_t>(d + 1) * 86'400'000;
    const std::int64_t slow = d >= 2 ? 86'400'000 / 2 : 0;  // the third day is half slow, and what comes after it not
    k.t.tell(JobProgressed{good, 1, {static_cast<std::uint64_t>(ms), static_cast<std::uint64_t>(ms), 0, 0, slow, 1}});
  }
  const Streak s = streak_of(k.now(), 0.94);
  EXPECT_EQ(s.complete, 5U);
  EXPECT_EQ(s.reached, 4U);
  EXPECT_EQ(s.days, 2U);
  EXPECT_EQ(s.longest, 2U);
  EXPECT_EQ(streak_of(k.now(), 0.4).days, 5U);
}

TEST(Waterfall, GpuTypesShareWhatWasWanted) {
  Site site = small_site(4);
  site.nodes[2].gpu_model = site.nodes[3].gpu_model = "A100";
  Story t(site);
  Waterfall flow;
  Event e;
  e.utc = t.now().utc;
  e.body = SiteDeclared{t.s.site};
  flow.take(e, t.s);
  t.heard = [&](const Event& x) { flow.take(x, t.s); };
  t.submit(1);
  t.running({kN1, kN2});
  t.pass(minutes(10));
  std::int64_t h200 = 0, a100 = 0;
  const Flow f = flow.close(t.s, t.s.mono(), t.s.now.utc);
  for (const auto& [key, x] : f.owners) {
    if (key.first.gpu_type == "H200") h200 += x[SiteClass::idle_fragmented];
    if (key.first.gpu_type == "A100") a100 += x[SiteClass::idle_fragmented];
    if (key.first.job) {
      EXPECT_EQ(key.first.gpu_type, "A100+H200") << "a gang on both";
    }
  }
  EXPECT_EQ(h200, kNodeMinute * 5);
  EXPECT_EQ(a100, kNodeMinute * 5);
}

TEST(Waterfall, AJobThatNamesATypeWaitsForThatAlone) {
  Site site = small_site(4);
  site.nodes[3].gpu_model = "A100";
  Story t(site);
  Waterfall flow;
  Event e;
  e.utc = t.now().utc;
  e.body = SiteDeclared{t.s.site};
  flow.take(e, t.s);
  t.heard = [&](const Event& x) { flow.take(x, t.s); };
  JobSpec spec;
  spec.nodes = 3;
  spec.gpu_model = "A100";
  t.tell(JobSubmitted{JobId{900, 0}, spec});
  t.pass(minutes(10));  // three nodes are wanted, and there is one of that type
  EXPECT_EQ(flow.close(t.s, t.s.mono(), t.s.now.utc).sum()[SiteClass::idle_fragmented], kNodeMinute * 10);
  t.submit(2);
  t.pass(minutes(10));
  EXPECT_EQ(flow.close(t.s, t.s.mono(), t.s.now.utc).sum()[SiteClass::idle_fragmented], kNodeMinute * (10 + 30));
}

TEST(Waterfall, SumsToTheAccountantsBooksWhateverHappens) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Kept k(6);
    Prng prng(seed, "waterfall");
    std::vector<JobId> jobs;
    for (int i = 0; i < 400; ++i) {
      const auto what = prng.below(9);
      const NodeId n{static_cast<std::uint32_t>(prng.below(6))};
      const JobId j = jobs.empty() ? JobId{} : jobs[prng.below(jobs.size())];
      const auto ms = static_cast<std::int64_t>(prng.below(600'000));
      const Job* x = find_job(k.t.s, j);
      const std::uint32_t attempt = x == nullptr ? 1 : x->attempt;
      if (what == 0) jobs.push_back(k.t.submit(1 + static_cast<std::uint32_t>(prng.below(3))));
      if (what == 1 && x != nullptr && x->phase == JobPhase::queued && k.t.s.nodes[n.v].shares.empty()) k.t.order_start(j, {n});
      if (what == 2 && x != nullptr && x->phase == JobPhase::starting) k.t.tell(JobStarted{j, attempt, x->nodes});
      if (what == 3 && x != nullptr) k.t.tell(JobProgressed{j, attempt, {9, 9, ms / 9, ms / 5, ms / 7, 1}});
      if (what == 4 && x != nullptr)
        k.t.tell(JobEnded{j, attempt, prng.chance(0.5) ? JobEnd::completed : JobEnd::node_failed, {9, 9, ms / 9, 0, 0}, {}});
      if (what == 5 && x != nullptr && x->phase == JobPhase::broken) k.t.tell(JobRequeued{j});
      if (what == 6) k.t.tell(NodeChanged{n, prng.chance(0.5) ? NodeCondition::down : NodeCondition::up, {}});
      if (what == 7) k.t.tell(NodeHeld{n, prng.chance(0.5), "ada", "test"});
      if (what == 8) k.t.pass(seconds(static_cast<std::int64_t>(prng.below(40'000))));
      EXPECT_EQ(k.flow.waiting_milli(), waiting(k.t.s)) << "seed " << seed << " step " << i;
    }
    expect_exact(k, "seed " + std::to_string(seed));
  }
}

}  // namespace
}  // namespace muster::account
