#include "act/guard.h"

#include <gtest/gtest.h>

#include "base/prng.h"
#include "model/story.h"

namespace muster::act {
namespace {

constexpr NodeId kN0{0}, kN1{1};
constexpr Verb kRepairs[] = {Verb::reset_gpu, Verb::reboot_node, Verb::power_cycle_node, Verb::replace_node};

class Guarded : public ::testing::Test {
 protected:
  // 40 nodes: by the default policy 4 may be out in the cluster, 2 in a rack of 4, 8 harmful acts an hour.
  explicit Guarded(std::uint32_t nodes = 40) : t(nodes) {}

  IncidentId trouble(NodeId n, FindingKind k = FindingKind::gpu_lost, Witness w = Witness::scrape) {
    return t.open(t.find(k, n, 1, w));
  }
  Reason because(IncidentId i) const {
    Reason r;
    r.rule = "test";
    r.incident = i;
    if (const Incident* x = find_incident(t.s, i)) r.findings = x->findings;
    return r;
  }
  Verdict ask(Verb v, NodeId n, IncidentId i, JobId job = {}) const {
    Action a;
    a.verb = v;
    a.node = n;
    a.job = job;
    return Guard{}.check(t.s, a, because(i));
  }
  void expect_refused(const Verdict& v, const std::string& why) const {
    EXPECT_FALSE(v.allowed);
    EXPECT_NE(v.limit.find(why), std::string::npos) << v.limit;
  }
  Story t;
};

TEST_F(Guarded, TheFirstFewDrainsPassAndSayWhatIsLeft) {
  const Verdict v = ask(Verb::drain_node, kN0, trouble(kN0));
  EXPECT_TRUE(v.allowed);
  EXPECT_FALSE(v.budget.empty());
}

TEST_F(Guarded, NoMoreNodesAreOutInTheClusterThanThePolicyAllows) {
  for (std::uint32_t n = 0; n < 16; n += 4) t.drained(NodeId{n}, trouble(NodeId{n}, static_cast<FindingKind>(n / 4)));
  const NodeId fifth{20};
  expect_refused(ask(Verb::drain_node, fifth, trouble(fifth)), "in the cluster: 4 of 4");
  EXPECT_TRUE(ask(Verb::reboot_node, kN0, t.s.nodes[0].incident).allowed) << "a node that is out already takes nothing more";
}

TEST_F(Guarded, NoMoreNodesAreOutInARackThanThePolicyAllows) {
  for (const std::uint32_t n : {0U, 1U}) t.drained(NodeId{n}, trouble(NodeId{n}));
  expect_refused(ask(Verb::drain_node, NodeId{2}, trouble(NodeId{2})), "in the rack: 2 of 2");
  EXPECT_TRUE(ask(Verb::drain_node, NodeId{4}, trouble(NodeId{4})).allowed);
}

TEST_F(Guarded, ADrainHeldBackIsAskedAgainSoonWhereAJobHangsOnTheNode) {
  for (const std::uint32_t n : {0U, 1U}) t.drained(NodeId{n}, trouble(NodeId{n}));
  t.running({NodeId{2}});
  const Verdict hanging = ask(Verb::drain_node, NodeId{2}, trouble(NodeId{2}));
  expect_refused(hanging, "in the rack");
  EXPECT_EQ(hanging.retry, t.s.mono() + t.s.policy.requeue_after);
  const Verdict empty = ask(Verb::drain_node, NodeId{3}, trouble(NodeId{3}));
  expect_refused(empty, "in the rack");
  EXPECT_GT(empty.retry, hanging.retry);
}

TEST_F(Guarded, NoMoreNodesAreOutInAnNvlinkDomainThanThePolicyAllows) {
  Site site = small_site(40);
  for (NodeSpec& n : site.nodes) n.domain = n.rack / 2;  // eight nodes to a domain: a quarter is two
  t = Story(site);
  for (const std::uint32_t n : {0U, 4U}) t.drained(NodeId{n}, trouble(NodeId{n}));
  expect_refused(ask(Verb::drain_node, kN1, trouble(kN1)), "in the NVLink domain: 2 of 2");
}

TEST_F(Guarded, NodesThatAPersonDrainedOrThatAreDownAreNotMustersDoing) {
  for (std::uint32_t n = 4; n < 24; ++n) t.drained(NodeId{n}, {}, "wish" + std::to_string(n));
  for (std::uint32_t n = 24; n < 40; ++n) t.tell(NodeChanged{NodeId{n}, NodeCondition::down, {}});
  EXPECT_TRUE(ask(Verb::drain_node, kN0, trouble(kN0)).allowed);
}

TEST_F(Guarded, NoMoreHarmIsDoneInAnHourThanThePolicyAllows) {
  const IncidentId i = trouble(kN0);
  t.drained(kN0, i);
  for (int k = 0; k < 7; ++k) t.ends(t.order(Verb::reboot_node, kN0, i));
  const Verdict v = ask(Verb::reboot_node, kN0, i);
  expect_refused(v, "in the last hour: 8 of 8");
  EXPECT_EQ(v.retry, t.s.mono() + hours(1)) << "when the oldest is an hour old";
  t.pass(hours(1) + seconds(1));
  EXPECT_TRUE(ask(Verb::reboot_node, kN0, i).allowed);
}

TEST_F(Guarded, WhenSeveralOfItsNodesFailAJobIsStoppedOnce) {
  const JobId j = t.running({kN0, kN1});
  const IncidentId i = trouble(kN0);
  const IncidentId other = trouble(kN1);
  const std::string key = t.order(Verb::restart_job, kN0, i, {}, j);
  const Verdict v = ask(Verb::restart_job, kN1, other, j);
  expect_refused(v, "job 1 is being moved or stopped already");
  EXPECT_EQ(v.retry, t.s.mono() + minutes(1));
  t.ends(key);
  EXPECT_TRUE(ask(Verb::restart_job, kN1, other, j).allowed) << "it may still run there";
}

TEST_F(Guarded, OneJobIsNotStoppedAgainAndAgain) {
  const JobId j = t.running({kN0});
  const IncidentId i = trouble(kN0);
  for (int k = 0; k < 12; ++k) {
    EXPECT_TRUE(ask(Verb::requeue_job, kN0, i, j).allowed);
    t.ends(t.order(Verb::requeue_job, kN0, i, {}, j));
    t.pass(minutes(61));
  }
  expect_refused(ask(Verb::requeue_job, kN0, i, j), "stops of job 1 in a day: 12 of 12");
  t.pass(hours(13));
  EXPECT_TRUE(ask(Verb::requeue_job, kN0, i, j).allowed);
}

TEST_F(Guarded, UndrainTestProbeAndTheQueueAreNeverHeldBackByBudgets) {
  Policy none = default_policy();
  none.limits = {0, 0, 0, 0, 0, 0, 0, 0, 0, minutes(10), 0, 0, minutes(30), minutes(30)};
  t = Story(40, none);
  const IncidentId i = trouble(kN0);
  t.tell(CauseFrozen{FindingKind::gpu_lost, t.s.mono() + hours(9), "many"});
  for (const Verb v : {Verb::undrain_node, Verb::test_node, Verb::probe_node}) EXPECT_TRUE(ask(v, kN0, i).allowed) << name_of(v);
  for (const Verb v : {Verb::start_job, Verb::requeue_job, Verb::fail_job}) EXPECT_TRUE(ask(v, {}, {}).allowed) << name_of(v);
  EXPECT_FALSE(ask(Verb::drain_node, kN0, i).allowed);
}

TEST_F(Guarded, ALimitOfZeroAllowsNothing) {
  Policy none = default_policy();
  none.limits.harm_per_hour_pct = 0;
  none.limits.harm_per_hour_floor = 0;
  t = Story(40, none);
  EXPECT_FALSE(ask(Verb::drain_node, kN0, trouble(kN0)).allowed);
}

// ---------------------------------------------------------------- evidence

TEST_F(Guarded, AnActWithoutEvidenceThatNamesTheNodeIsRefused) {
  const IncidentId elsewhere = trouble(kN1);
  expect_refused(ask(Verb::drain_node, kN0, elsewhere), "no evidence names this node");
  expect_refused(ask(Verb::drain_node, kN0, IncidentId{99}), "no incident");
  expect_refused(ask(Verb::drain_node, NodeId{99}, elsewhere), "no such node");
}

TEST_F(Guarded, ALogLineAloneCannotStopWork) {
  const JobId j = t.running({kN0});
  const IncidentId i = trouble(kN0, FindingKind::gpu_lost, Witness::kernel_log);
  EXPECT_TRUE(ask(Verb::drain_node, kN0, i).allowed) << "what runs goes on";
  expect_refused(ask(Verb::requeue_job, kN0, i, j), "a witness other than a log line");
  for (const Verb v : kRepairs) expect_refused(ask(v, kN0, i, j), "a witness other than a log line");
  t.tell(FindingGrew{find_incident(t.s, i)->findings[0], Severity::critical, {Witness::scrape, t.now().utc, {}, "missing"}});
  EXPECT_TRUE(ask(Verb::requeue_job, kN0, i, j).allowed);
}

TEST_F(Guarded, NothingIsRepairedUnderALiveJob) {
  t.running({kN0, kN1});
  const IncidentId i = trouble(kN0);
  t.drained(kN0, i);
  for (const Verb v : kRepairs) expect_refused(ask(v, kN0, i), "a job runs on the node");
}

// ---------------------------------------------------------------- the same cause on many nodes

TEST_F(Guarded, TheSameCauseOnManyNodesFreezesItButNotTheFirstFew) {
  std::vector<IncidentId> incidents;
  for (std::uint32_t k = 0; k < 4; ++k) {
    incidents.push_back(trouble(NodeId{k * 4}));
    EXPECT_TRUE(ask(Verb::drain_node, NodeId{k * 4}, incidents.back()).allowed) << "the first few are never delayed";
  }
  const IncidentId fifth = trouble(NodeId{16});
  const Verdict v = ask(Verb::drain_node, NodeId{16}, fifth);
  expect_refused(v, "suspect the cause");
  EXPECT_TRUE(v.freeze);
  EXPECT_EQ(v.retry, t.s.mono() + t.s.policy.limits.cause_freeze);
  const IncidentId other = trouble(NodeId{20}, FindingKind::thermal_throttle);
  EXPECT_TRUE(ask(Verb::drain_node, NodeId{20}, other).allowed) << "another cause is not frozen";
}

TEST_F(Guarded, AFrozenCauseThawsByItself) {
  const IncidentId first = trouble(NodeId{4});
  t.pass(seconds(1));
  t.tell(CauseFrozen{FindingKind::gpu_lost, t.s.mono() + minutes(30), "many"});
  EXPECT_TRUE(ask(Verb::drain_node, NodeId{4}, first).allowed) << "it was among the first few, before the freeze";
  t.pass(seconds(1));
  const IncidentId i = trouble(kN0);
  expect_refused(ask(Verb::drain_node, kN0, i), "frozen");
  t.pass(minutes(30));
  EXPECT_TRUE(ask(Verb::drain_node, kN0, i).allowed);
}

TEST_F(Guarded, WhatACommonCauseExplainsIsNotActedOnButTestedAndReturned) {
  const IncidentId i = trouble(kN0);
  Finding cause;
  cause.id = FindingId{t.s.next_finding};
  cause.kind = FindingKind::common_cause;
  cause.subject = "leaf switch 0";
  cause.evidence = {{Witness::scrape, t.now().utc, {}, "many"}};
  t.tell(FindingOpened{cause});
  t.tell(FindingGrew{find_incident(t.s, i)->findings.front(), Severity::critical, {}, cause.id});
  for (const Verb v : {Verb::drain_node, Verb::reboot_node, Verb::replace_node}) {
    expect_refused(ask(v, kN0, i), "leaf switch 0 explains it");
  }
  for (const Verb v : {Verb::undrain_node, Verb::test_node, Verb::probe_node}) EXPECT_TRUE(ask(v, kN0, i).allowed);
  t.tell(FindingCleared{cause.id, "over"});
  EXPECT_TRUE(ask(Verb::drain_node, kN0, i).allowed);
}

TEST_F(Guarded, ARepairWaitsUntilItIsKnownWhetherSeveralNodesShareACause) {
  const IncidentId i = trouble(kN0);
  EXPECT_TRUE(ask(Verb::reboot_node, kN0, i).allowed);
  for (std::uint32_t n = 8; n < 16; n += 4) trouble(NodeId{n});
  expect_refused(ask(Verb::reboot_node, kN0, i), "share a cause");
  EXPECT_TRUE(ask(Verb::drain_node, kN0, i).allowed) << "the first few are never delayed";
  t.pass(minutes(2));
  EXPECT_TRUE(ask(Verb::reboot_node, kN0, i).allowed);
}

TEST_F(Guarded, TheSameCauseSpreadOverHoursIsNoOutbreak) {
  for (std::uint32_t k = 0; k < 9; ++k) {
    const IncidentId i = trouble(NodeId{k * 4});
    EXPECT_TRUE(ask(Verb::drain_node, NodeId{k * 4}, i).allowed);
    t.pass(minutes(11));
  }
}

TEST_F(Guarded, OneNodeThatFailsAgainAndAgainIsNoOutbreak) {
  for (int k = 0; k < 9; ++k) t.tell(IncidentClosed{trouble(kN0), "fixed"});
  EXPECT_TRUE(ask(Verb::drain_node, kN0, trouble(kN0)).allowed);
}

// ---------------------------------------------------------------- people

TEST_F(Guarded, NothingIsDoneWhilePausedExceptWhatAPersonAsksFor) {
  const IncidentId i = trouble(kN0);
  t.command(CommandVerb::pause, "p");
  for (const Verb v : {Verb::drain_node, Verb::undrain_node, Verb::test_node, Verb::reboot_node}) {
    expect_refused(ask(v, kN0, i), "paused by ada");
  }
  expect_refused(ask(Verb::start_job, {}, {}), "paused by ada");
  Reason wish;
  wish.wish = "w";
  EXPECT_TRUE(Guard{}.check(t.s, {Verb::drain_node, kN0}, wish).allowed);
}

TEST_F(Guarded, ANodeThatAPersonHoldsIsNotTouched) {
  const IncidentId i = trouble(kN0);
  t.drained(kN0, {}, "wish");
  expect_refused(ask(Verb::drain_node, kN0, i), "a person holds this node");
  for (const Verb v : kRepairs) expect_refused(ask(v, kN0, i), "a person holds this node");
}

TEST(Allowance, IsTheLargerOfAShareAndAFloor) {
  EXPECT_EQ(allowance(10, 2, 5), 2U);
  EXPECT_EQ(allowance(10, 2, 100), 10U);
  EXPECT_EQ(allowance(10, 2, 109), 10U) << "never rounded up";
  EXPECT_EQ(allowance(0, 0, 100), 0U);
}

// ---------------------------------------------------------------- whatever is asked for, in whatever order

// Its own count of what was let through, against the policy.
struct Bookkeeper {
  const Policy& policy;
  const Site& site;
  std::set<NodeId> out;
  std::deque<Time> harms;
  std::map<JobId, std::deque<Time>> stops;

  void let_through(Verb v, NodeId n, JobId j, Time now) {
    const Limits& l = policy.limits;
    while (!harms.empty() && now - harms.front() >= hours(1)) harms.pop_front();
    harms.push_back(now);
    ASSERT_LE(harms.size(), allowance(l.harm_per_hour_pct, l.harm_per_hour_floor, static_cast<std::uint32_t>(site.nodes.size())));
    if (v == Verb::requeue_job) {
      auto& of_job = stops[j];
      while (!of_job.empty() && now - of_job.front() > days(1)) of_job.pop_front();
      of_job.push_back(now);
      ASSERT_LE(of_job.size(), l.job_requeues_per_day);
      return;
    }
    out.insert(n);
    const auto size = static_cast<std::uint32_t>(site.nodes.size());
    ASSERT_LE(out.size(), allowance(l.out_cluster_pct, l.out_cluster_floor, size));
    check(n, l.out_rack_pct, l.out_rack_floor, [&](NodeId m) { return site.nodes[m.v].rack; });
    check(n, l.out_domain_pct, l.out_domain_floor, [&](NodeId m) { return site.nodes[m.v].domain; });
  }
  template <class Of>
  void check(NodeId n, double pct, std::uint32_t floor, Of of) {
    std::uint32_t here = 0;
    std::uint32_t are_out = 0;
    for (std::uint32_t m = 0; m < site.nodes.size(); ++m) here += of(NodeId{m}) == of(n) ? 1 : 0;
    for (const NodeId m : out) are_out += of(m) == of(n) ? 1 : 0;
    ASSERT_LE(are_out, here == 1 ? 1 : allowance(pct, floor, here));
  }
};

Policy random_policy(Prng& prng) {
  Policy p = default_policy();
  Limits& l = p.limits;
  l.out_cluster_pct = static_cast<double>(prng.below(40));
  l.out_cluster_floor = static_cast<std::uint32_t>(prng.below(3));
  l.out_rack_pct = static_cast<double>(prng.below(80));
  l.out_rack_floor = static_cast<std::uint32_t>(prng.below(3));
  l.out_domain_pct = static_cast<double>(prng.below(60));
  l.out_domain_floor = static_cast<std::uint32_t>(prng.below(2));
  l.harm_per_hour_pct = static_cast<double>(prng.below(40));
  l.harm_per_hour_floor = static_cast<std::uint32_t>(prng.below(8));
  l.job_requeues_per_day = static_cast<std::uint32_t>(prng.below(5));
  l.cause_pct = 100;
  return p;
}

struct Chaos {
  Prng& prng;
  Story& t;
  Bookkeeper& books;
  int allowed = 0;
  int refused = 0;

  void act(Verb v, NodeId n) {
    const NodeState& node = t.s.nodes[n.v];
    IncidentId i = node.incident;
    if (!i.some()) i = t.open(t.find(FindingKind::gpu_lost, n, 1));
    const JobId job = t.s.nodes[n.v].first_job();
    if (v == Verb::requeue_job && !job.some()) return;
    Reason r;
    r.incident = i;
    r.findings = find_incident(t.s, i)->findings;
    Action a;
    a.verb = v;
    a.node = n;
    a.job = job;
    const Verdict verdict = Guard{}.check(t.s, a, r);
    ASSERT_TRUE(verdict.allowed || v != Verb::undrain_node);
    (verdict.allowed ? allowed : refused) += 1;
    if (!verdict.allowed) {
      ASSERT_FALSE(verdict.limit.empty());
      return;
    }
    if (harmful(v)) books.let_through(v, n, job, t.s.mono());
    const std::string key = t.order(v, n, i, {}, job);
    const bool done = prng.chance(0.8);
    t.ends(key, done ? Status::done : Status::failed);
    if (v == Verb::undrain_node && done) books.out.erase(n);
    if (v == Verb::drain_node && !done && t.s.nodes[n.v].hold != Hold::muster) books.out.erase(n);
  }
  void one() {
    const NodeId n{static_cast<std::uint32_t>(prng.below(t.s.nodes.size()))};
    const auto wait = static_cast<std::int64_t>(prng.below(1500));
    switch (prng.below(9)) {
      case 0:
      case 1:
      case 2: return act(Verb::drain_node, n);
      case 3: return t.s.nodes[n.v].hold == Hold::muster ? act(Verb::undrain_node, n) : void();
      case 4: return t.s.nodes[n.v].hold == Hold::muster ? act(Verb::reboot_node, n) : void();
      case 5: return act(Verb::requeue_job, n);
      case 6:
        if (placeable(t.s, n)) t.running({n});
        return;
      case 7:
        if (const JobId j = t.s.nodes[n.v].first_job(); j.some()) t.tell(JobEnded{j, 1, JobEnd::completed, {}, {}});
        return;
      default: return t.pass(seconds(wait));
    }
  }
};

TEST(AnySequence, OfActsThatTheGuardAllowsStaysWithinEveryBudgetOfThePolicy) {
  int allowed = 0;
  int refused = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Prng prng(seed, "guard");
    const Policy policy = random_policy(prng);
    Site site = small_site(static_cast<std::uint32_t>(4 + prng.below(30)));
    const bool shared_domains = prng.chance(0.5);
    for (NodeSpec& n : site.nodes) n.domain = shared_domains ? n.rack : n.domain;
    Story t(site, policy);
    Bookkeeper books{policy, t.s.site, {}, {}, {}};
    Chaos chaos{prng, t, books};
    for (int step = 0; step < 250; ++step) {
      chaos.one();
      ASSERT_FALSE(::testing::Test::HasFatalFailure()) << "seed " << seed << " step " << step;
    }
    allowed += chaos.allowed;
    refused += chaos.refused;
  }
  EXPECT_GT(allowed, 5000) << "or it proved nothing";
  EXPECT_GT(refused, 5000) << "or it proved nothing";
}

// ---- shadow, approvals, windows

TEST_F(Guarded, InShadowNothingPassesWhateverItIsAndWhoeverAsks) {
  t.s.policy.shadow = true;
  const JobId job = t.running({kN0});
  const IncidentId i = trouble(kN0);
  for (std::size_t v = 0; v < names(Verb{}).size(); ++v) {
    for (const bool person : {false, true}) {
      for (const IncidentId behind : {i, IncidentId{}}) {
        Action a;
        a.verb = static_cast<Verb>(v);
        a.node = kN0;
        a.job = job;
        Reason r = because(behind);
        if (person) r.wish = "w";
        expect_refused(Guard{}.check(t.s, a, r), "shadow");
      }
    }
  }
}

TEST_F(Guarded, AGroupInShadowIsLeftAloneAndTheOthersAreNot) {
  Policy p = default_policy();
  p.groups = {{"new", "n[0-3]", true, {}}};
  t.tell(PolicyApplied{p, "other"});
  expect_refused(ask(Verb::drain_node, kN0, trouble(kN0)), "shadow");
  EXPECT_TRUE(ask(Verb::drain_node, NodeId{4}, trouble(NodeId{4})).allowed);
}

TEST_F(Guarded, AJobWhoseOwnerForbidsRequeueIsNeverStopped) {
  const JobId job = t.running({kN0});
  t.s.jobs.at(job).spec.no_requeue = true;
  const IncidentId i = trouble(kN0);
  for (const Verb v : {Verb::requeue_job, Verb::restart_job}) expect_refused(ask(v, kN0, i, job), "forbids");
}

TEST_F(Guarded, AnActBeyondTheBlastRadiusWaitsForAPerson) {
  t.s.policy.approvals.gpus = 8;
  const JobId job = t.running({kN0, kN1});
  const IncidentId i = trouble(kN0);
  const Verdict v = ask(Verb::requeue_job, kN0, i, job);
  expect_refused(v, "stops work on 16 GPUs, more than 8");
  ASSERT_TRUE(v.ask);
  Action a;
  a.verb = Verb::requeue_job;
  a.node = kN0;
  a.job = job;
  t.tell(ApprovalAsked{1, a, because(i), v.limit, v.retry});
  const Verdict again = ask(Verb::requeue_job, kN0, i, job);
  expect_refused(again, "waits for approval 1");
  EXPECT_FALSE(again.ask) << "asked once";
  CommandGiven yes;
  yes.verb = CommandVerb::approve;
  yes.actor = "ada";
  yes.id = "c1";
  yes.approval = 1;
  t.tell(yes);
  const Verdict now = ask(Verb::requeue_job, kN0, i, job);
  EXPECT_TRUE(now.allowed);
  EXPECT_NE(now.budget.find("approved by ada"), std::string::npos) << now.budget;
}

TEST_F(Guarded, WhatAPersonRejectedIsNotDoneNorAskedAgain) {
  t.s.policy.approvals.verbs = {Verb::drain_node};
  const IncidentId i = trouble(kN0);
  const Verdict v = ask(Verb::drain_node, kN0, i);
  ASSERT_TRUE(v.ask);
  Action a;
  a.verb = Verb::drain_node;
  a.node = kN0;
  t.tell(ApprovalAsked{7, a, because(i), v.limit, v.retry});
  CommandGiven no;
  no.verb = CommandVerb::reject;
  no.actor = "ada";
  no.id = "c1";
  no.approval = 7;
  t.tell(no);
  const Verdict now = ask(Verb::drain_node, kN0, i);
  expect_refused(now, "ada said no");
  EXPECT_FALSE(now.ask);
}

TEST_F(Guarded, AJobOfUnknownCheckpointIsStoppedOnlyWithApproval) {
  const JobId job = t.running({kN0});
  const IncidentId i = trouble(kN0);
  EXPECT_TRUE(ask(Verb::requeue_job, kN0, i, job).allowed);
  t.s.jobs.at(job).spec.checkpoint_every_s = -1;
  const Verdict v = ask(Verb::requeue_job, kN0, i, job);
  expect_refused(v, "nobody knows how old the last checkpoint");
  EXPECT_TRUE(v.ask);
  EXPECT_TRUE(ask(Verb::drain_node, kN0, i).allowed) << "a drain disturbs nobody";
}

TEST_F(Guarded, WorkThatCanWaitWaitsForItsWindow) {
  Policy p = default_policy();
  for (Runbook& r : p.runbooks) r.window = r.kind == FindingKind::row_remap_pending;
  p.windows = {{127, 60, 120, "UTC", {}}};  // the story begins at midnight
  t.tell(PolicyApplied{p, "other"});
  const IncidentId i = trouble(kN0, FindingKind::row_remap_pending);
  const Verdict v = ask(Verb::drain_node, kN0, i);
  expect_refused(v, "the next begins in 1h");
  EXPECT_EQ(v.retry, t.s.mono() + hours(1));
  EXPECT_TRUE(ask(Verb::drain_node, kN1, trouble(kN1)).allowed) << "this cannot wait";
  t.pass(hours(1));
  EXPECT_TRUE(ask(Verb::drain_node, kN0, i).allowed);
}

}  // namespace
}  // namespace muster::act
