#include "decide/queue.h"

#include <gtest/gtest.h>

#include <bit>

#include "decide/broken.h"
#include "decide/decide.h"
#include "decide/outlook.h"
#include "model/story.h"

namespace muster::decide {
namespace {

std::vector<Wanted> wanted(const Decisions& d) {
  std::vector<Wanted> out;
  for (const Decision& x : d) {
    if (const auto* w = std::get_if<Wanted>(&x)) out.push_back(*w);
  }
  return out;
}

std::vector<Wanted> queue(const State& s) {
  ClusterView view;
  view.update(s);
  Decisions out;
  decide_queue(s, view, out);
  return wanted(out);
}

std::vector<Wanted> broken(const State& s) {
  ClusterView view;
  view.update(s);
  Decisions out;
  decide_broken(s, view, out);
  return wanted(out);
}

TEST(Queue, JobsStartInTheOrderTheyCame) {
  Story t(8);
  const JobId a = t.submit(3);
  const JobId b = t.submit(3);
  t.submit(3);
  const auto w = queue(t.s);
  ASSERT_EQ(w.size(), 2U);
  EXPECT_EQ(w[0].action.job, a);
  EXPECT_EQ(w[1].action.job, b);
  EXPECT_EQ(w[0].action.verb, Verb::start_job);
  EXPECT_EQ(w[0].action.attempt, 1U);
  EXPECT_FALSE(w[0].reason.sentence.empty());
}

TEST(Queue, ALeafUnderWhichJobsHangIsTheLastChoice) {
  Story t(8);
  const auto hang = [&](std::uint32_t leaf) {
    Finding f;
    f.id = FindingId{t.s.next_finding};
    f.kind = FindingKind::common_cause;
    f.subject = std::string(kHangsSubject) + std::to_string(leaf);
    f.opened = t.now().utc;
    f.evidence = {{Witness::job, t.now().utc, {}, "seen"}};
    t.tell(FindingOpened{f});
    return f.id;
  };
  t.submit(3);
  for (const std::uint32_t leaf : {0U, 1U}) {
    const FindingId id = hang(leaf);
    const auto w = queue(t.s);
    ASSERT_EQ(w.size(), 1U);
    for (const NodeId n : w[0].action.nodes) EXPECT_NE(t.s.site.nodes[n.v].leaf, leaf);
    t.tell(FindingCleared{id, "over"});
    EXPECT_TRUE(t.s.suspect_leaves.empty());
  }
  hang(0);
  hang(1);
  EXPECT_EQ(queue(t.s).size(), 1U) << "where there is no other, it starts all the same";
}

TEST(Queue, ALeafThatAFaultOfTheNetworkCostsBandwidthIsAvoidedUntilTheLastOneIsMended) {
  Story t(8);
  const auto fault = [&](const std::string& subject, std::int16_t leaf, NodeId node = {}) {
    Finding f;
    f.id = FindingId{t.s.next_finding};
    f.kind = FindingKind::fabric_fault;
    f.node = node;
    f.slot = leaf;
    f.subject = subject;
    f.opened = t.now().utc;
    f.evidence = {{Witness::scrape, t.now().utc, {}, "seen"}};
    t.tell(FindingOpened{f});
    return f.id;
  };
  const auto avoided = [&](std::uint32_t leaf) {
    const auto w = queue(t.s);
    EXPECT_EQ(w.size(), 1U);
    return std::none_of(w.at(0).action.nodes.begin(), w.at(0).action.nodes.end(),
                        [&](NodeId n) { return t.s.site.nodes[n.v].leaf == leaf; });
  };
  t.submit(3);
  const bool first = avoided(0);  // of two leaves that are alike one is taken first
  const std::int16_t usual = first ? 1 : 0;
  fault("extra_cable leaf0[9] - leaf1[9]", usual);
  fault("missing_cable n0 mlx5_0[1] - leaf0[1]", -1, NodeId{0});
  fault("missing_cable spine0[1] - spine1[1]", -1);
  EXPECT_FALSE(avoided(static_cast<std::uint32_t>(usual))) << "none of these costs the leaf anything";
  const FindingId one = fault("missing_cable leaf0[17] - spine0[1]", usual);
  const FindingId two = fault("rail3: degraded_link leaf0[18] - spine1[1]", usual);
  EXPECT_TRUE(avoided(static_cast<std::uint32_t>(usual)));
  t.tell(FindingCleared{one, "over"});
  EXPECT_TRUE(avoided(static_cast<std::uint32_t>(usual))) << "the other one stands";
  t.tell(FindingCleared{two, "over"});
  EXPECT_FALSE(avoided(static_cast<std::uint32_t>(usual)));
  EXPECT_TRUE(t.s.suspect_leaves.empty());
}

TEST(Queue, WhatIsBarredIsNeitherStartedNorWaitedFor) {
  for (const bool backfill : {true, false}) {
    Policy p = default_policy();
    p.scheduling.backfill = backfill;
    Story t(8, p);
    const JobId barred = t.submit(3);
    JobSpec spec = t.s.jobs.at(barred).spec;
    spec.barred = "the engine places it";
    t.tell(JobAmended{barred, spec});
    const JobId b = t.submit(3);
    const auto w = queue(t.s);
    ASSERT_EQ(w.size(), 1U);
    EXPECT_EQ(w[0].action.job, b);
    spec.barred.clear();
    t.tell(JobAmended{barred, spec});
    ASSERT_EQ(queue(t.s).size(), 2U);
    EXPECT_EQ(queue(t.s)[0].action.job, barred) << "first in the queue again";
  }
}

TEST(Queue, AJobStaysWithinItsPool) {
  Story t(8);
  t.tell(PoolsDeclared{{{"few", {NodeId{2}, NodeId{5}, NodeId{6}}}, {"one", {NodeId{7}}}}});
  const auto bind = [&](JobId id, const char* pool) {
    JobSpec spec = t.s.jobs.at(id).spec;
    spec.pool = pool;
    t.tell(JobAmended{id, spec});
  };
  const JobId a = t.submit(2), b = t.submit(2), c = t.submit(1), d = t.submit(1);
  for (const JobId j : {a, b}) bind(j, "few");
  bind(c, "one");
  bind(d, "gone");
  const auto w = queue(t.s);
  ASSERT_EQ(w.size(), 2U) << "the pool holds one of the two, and nobody knows the last one's";
  for (const Wanted& x : w) {
    EXPECT_TRUE(x.action.job == a || x.action.job == c) << "another pool's queue does not hold it up";
    const std::vector<NodeId> may = t.s.site.pools[x.action.job == a ? 0 : 1].nodes;
    for (const NodeId n : x.action.nodes) EXPECT_NE(std::find(may.begin(), may.end(), n), may.end());
  }
}

TEST(Queue, WithoutBackfillNobodyOvertakesAJobThatWaitsForNodes) {
  Policy p = default_policy();
  p.scheduling.backfill = false;
  Story t(8, p);
  t.running({NodeId{0}});
  t.submit(8);
  t.submit(1);
  EXPECT_TRUE(queue(t.s).empty());
}

// Runs for so long by its owner's word.
JobId submit_for(Story& t, std::uint32_t nodes, double seconds, std::function<void(JobSpec&)> more = {}) {
  JobSpec spec;
  spec.name = "timed";
  spec.account = "lab";
  spec.nodes = nodes;
  spec.time_limit_s = seconds;
  spec.step_s = 1;
  spec.steps = static_cast<std::uint64_t>(seconds);
  if (more) more(spec);
  const JobId id{static_cast<std::uint32_t>(t.s.totals.jobs_submitted + 1), 0};
  t.tell(JobSubmitted{id, spec});
  return id;
}

TEST(Queue, AJobBeyondItsQueuesLimitIsToldSo) {
  Policy p = default_policy();
  QueueSpec lab;
  lab.name = "lab";
  lab.limit_gpus = 8;
  lab.models = {{"H200", 0, 8}};
  p.queues = {lab};
  Story t(8, p);
  const JobId big = submit_for(t, 2, 600);
  EXPECT_TRUE(queue(t.s).empty());
  EXPECT_EQ(why_not_started(t.s, big), "it can never start: its queue lab has a limit of 8 GPUs, and it asks for 16");
}

TEST(Queue, ADeadlineThatCannotBeMetIsNamed) {
  Story t(2);
  const Time now = t.s.now.utc;
  const JobId late = submit_for(t, 1, 7200, [&](JobSpec& s) { s.deadline = now + hours(1); });
  const JobId fine = submit_for(t, 1, 600, [&](JobSpec& s) { s.deadline = now + hours(1); });
  EXPECT_NE(why_late(t.s, t.s.jobs.at(late)).find("can no longer be met, even if it started now"), std::string::npos);
  EXPECT_EQ(why_late(t.s, t.s.jobs.at(fine)), "");
  EXPECT_NE(why_late(t.s, t.s.jobs.at(fine), t.s.mono() + minutes(55)).find("will be missed if it starts no sooner"),
            std::string::npos);
  t.tell(TurnBegan{99, {now + hours(2), t.s.now.steady + hours(2), {}}});
  EXPECT_NE(why_late(t.s, t.s.jobs.at(fine)).find("was missed"), std::string::npos);
}

TEST(Queue, ALimitOfAModelBindsThoseWhoAskForIt) {
  Policy p = default_policy();
  QueueSpec lab;
  lab.name = "lab";
  lab.models = {{"H200", 0, 16}};
  p.queues = {lab};
  Story t(8, p);
  Site site = t.s.site;
  site.gpu_model = "H200";
  t.tell(SiteDeclared{site});
  for (int i = 0; i < 4; ++i) submit_for(t, 1, 600, [](JobSpec& s) { s.gpu_model = "H200"; });
  EXPECT_EQ(queue(t.s).size(), 2U);
}

TEST(Queue, ALimitOfPowerBinds) {
  Policy p = default_policy();
  QueueSpec lab;
  lab.name = "lab";
  lab.limit_kw = 20;  // a node draws 9.6
  p.queues = {lab};
  Story t(8, p);
  for (int i = 0; i < 4; ++i) submit_for(t, 1, 600);
  EXPECT_EQ(queue(t.s).size(), 2U);
}

TEST(Queue, AShortJobFillsTheGapBeforeAReservationAndALongOneDoesNot) {
  Story t(8);
  const JobId running = submit_for(t, 4, 7200);
  t.tell(JobStarted{running, 1, {NodeId{0}, NodeId{1}, NodeId{2}, NodeId{3}}});
  t.pass(hours(9));  // beyond the wait limit: the big one is first, whatever the others are like
  const JobId big = submit_for(t, 8, 600, [](JobSpec& s) { s.priority = 5; });
  const JobId lengthy = submit_for(t, 4, 360000);
  const JobId brief = submit_for(t, 4, 60);
  Policy p = t.s.policy;
  p.scheduling.preempt = false;
  t.tell(PolicyApplied{p, "h"});
  const auto w = queue(t.s);
  ASSERT_EQ(w.size(), 1U);
  EXPECT_EQ(w[0].action.job, brief);
  EXPECT_EQ(w[0].reason.rule, "queue/backfill");
  (void)big;
  (void)lengthy;
}

TEST(Queue, WhereTheEngineGoesByLimitsAHistoryOfShortRunsLetsNobodyAhead) {
  for (const bool by_limit : {false, true}) {
    Story t(8);
    for (int i = 0; i < 20; ++i) t.s.histories.add("ada", "timed", seconds(1));
    const auto of_ada = [&](JobSpec& s) {
      s.user = "ada";
      s.by_limit = by_limit;
    };
    const JobId running = submit_for(t, 6, 120, [&](JobSpec& s) { s.by_limit = by_limit; });
    t.tell(JobStarted{running, 1, {NodeId{0}, NodeId{1}, NodeId{2}, NodeId{3}, NodeId{4}, NodeId{5}}});
    const JobId big = submit_for(t, 8, 600, [&](JobSpec& s) {
      s.priority = 700;
      s.by_limit = by_limit;
    });
    const JobId game = submit_for(t, 2, 3600, of_ada);
    Policy p = t.s.policy;
    p.scheduling.preempt = false;
    t.tell(PolicyApplied{p, "h"});
    const auto w = queue(t.s);
    ASSERT_EQ(w.size(), by_limit ? 0U : 1U) << "its limit reaches beyond the start of the one before it";
    if (!by_limit) {
      EXPECT_EQ(w[0].action.job, game);
    }
    (void)big;
  }
}

TEST(Queue, PartsOfNodesAndSharesOfGpusAreToldApart) {
  Story t(2);
  const JobId half = submit_for(t, 1, 600, [](JobSpec& s) { s.gpus_per_node = 4; });
  const JobId quarter = submit_for(t, 1, 600, [](JobSpec& s) { s.gpu_milli = 250; });
  const JobId again = submit_for(t, 1, 600, [](JobSpec& s) { s.gpu_milli = 250; });
  const auto w = queue(t.s);
  ASSERT_EQ(w.size(), 3U);
  std::map<JobId, const Action*> by;
  for (const Wanted& x : w) by[x.action.job] = &x.action;
  EXPECT_EQ(std::popcount(by.at(half)->slots.at(0)), 4);
  EXPECT_EQ(by.at(quarter)->slots, by.at(again)->slots) << "two quarters share one GPU";
  EXPECT_EQ(by.at(quarter)->nodes, by.at(half)->nodes) << "on the node that is broken already";
}

TEST(Queue, AJobFollowsThoseItNames) {
  Story t(4);
  const JobId first = submit_for(t, 1, 600);
  const JobId then = submit_for(t, 1, 600, [&](JobSpec& s) { s.after = {first}; });
  EXPECT_EQ(queue(t.s).size(), 1U);
  EXPECT_NE(why_not_started(t.s, then).find("follows job 1"), std::string::npos);
  t.tell(JobStarted{first, 1, {NodeId{0}}});
  t.tell(JobEnded{first, 1, JobEnd::completed, {}, {}});
  const auto w = queue(t.s);
  ASSERT_EQ(w.size(), 1U);
  EXPECT_EQ(w[0].action.job, then);
}

TEST(Queue, AJobWhoseForerunnerFailedCanNeverStart) {
  Story t(4);
  const JobId first = submit_for(t, 1, 600);
  const JobId then = submit_for(t, 1, 600, [&](JobSpec& s) { s.after = {first}; });
  t.tell(JobGone{first, JobEnd::cancelled});
  EXPECT_TRUE(queue(t.s).empty());
  EXPECT_NE(why_not_started(t.s, then).find("never"), std::string::npos);
}

TEST(Queue, ALimitOfAQueueHoldsWhateverIsFree) {
  Policy p = default_policy();
  QueueSpec lab;
  lab.name = "lab";
  lab.limit_gpus = 16;
  p.queues = {lab};
  Story t(8, p);
  for (int i = 0; i < 4; ++i) submit_for(t, 1, 600);
  EXPECT_EQ(queue(t.s).size(), 2U);
  EXPECT_NE(why_not_started(t.s, JobId{3, 0}).size(), 0U);
}

TEST(Queue, AGuaranteeIsHadBackFromWhoBorrowedIt) {
  Policy p = default_policy();
  QueueSpec lab;
  lab.name = "lab";
  lab.guaranteed_gpus = 32;
  QueueSpec other;
  other.name = "other";
  p.queues = {lab, other};
  Story t(8, p);
  std::vector<JobId> borrowers;
  for (std::uint32_t n = 0; n < 8; n += 4) {
    const JobId b = submit_for(t, 4, 360000, [](JobSpec& s) { s.account = "other"; });
    t.tell(JobStarted{b, 1, {NodeId{n}, NodeId{n + 1}, NodeId{n + 2}, NodeId{n + 3}}});
    borrowers.push_back(b);
  }
  t.pass(hours(1));
  submit_for(t, 4, 600);
  const auto w = queue(t.s);
  ASSERT_EQ(w.size(), 1U);
  EXPECT_EQ(w[0].action.verb, Verb::requeue_job);
  EXPECT_EQ(w[0].reason.rule, "queue/preempt");
}

TEST(Queue, DeferrableWorkWaitsForCheapHoursAndNotBeyondItsDeadline) {
  Story t(8);
  std::vector<double> prices(24, 50);
  prices[5] = 10;
  t.tell(PriceAnnounced{t.now().utc, prices, {}});
  const auto later = [&](Duration in) {
    return [&t, in](JobSpec& s) {
      s.deferrable = true;
      s.deadline = t.now().utc + in;
    };
  };
  const JobId patient = submit_for(t, 1, 3000, later(hours(12)));
  const JobId pressed = submit_for(t, 1, 3000, later(hours(2)));
  auto w = queue(t.s);
  ASSERT_EQ(w.size(), 1U);
  EXPECT_EQ(w[0].action.job, pressed);
  EXPECT_NE(why_not_started(t.s, patient).find("cheaper power"), std::string::npos);
  t.tell(JobStarted{pressed, 1, {NodeId{7}}});
  t.pass(hours(5));
  w = queue(t.s);
  ASSERT_EQ(w.size(), 1U);
  EXPECT_EQ(w[0].action.job, patient);
}

TEST(Queue, AJobTooLargeForTheClusterBlocksNobody) {
  Story t(8);
  const JobId giant = t.submit(9);
  const JobId small = t.submit(8);
  const auto w = queue(t.s);
  ASSERT_EQ(w.size(), 1U);
  EXPECT_EQ(w[0].action.job, small);
  EXPECT_NE(why_not_started(t.s, giant).find("never"), std::string::npos);
}

TEST(Queue, NothingIsStartedOnNodesThatAreOutOrInTrouble) {
  Story t(4);
  t.tell(NodeChanged{NodeId{0}, NodeCondition::down, {}});
  t.drained(NodeId{1}, {}, "wish");
  t.open(t.find(FindingKind::thermal_throttle, NodeId{2}, 1));
  t.submit(1);
  const auto w = queue(t.s);
  ASSERT_EQ(w.size(), 1U);
  EXPECT_EQ(w[0].action.nodes, std::vector<NodeId>{NodeId{3}});
}

TEST(Queue, NothingStartsWhilePaused) {
  Story t(4);
  t.submit(1);
  t.command(CommandVerb::pause, "p");
  EXPECT_TRUE(queue(t.s).empty());
  const JobId j = t.submit(1);
  EXPECT_NE(why_not_started(t.s, j).find("paused by ada"), std::string::npos);
}

TEST(Queue, WhyAJobHasNotStartedIsSaidInWords) {
  Story t(4);
  t.running({NodeId{0}});
  const JobId head = t.submit(4, "head");
  const JobId next = t.submit(1, "next");
  EXPECT_NE(why_not_started(t.s, head).find("waits for the GPUs of job 1"), std::string::npos) << why_not_started(t.s, head);
  EXPECT_NE(why_not_started(t.s, next).find("expected to start"), std::string::npos) << why_not_started(t.s, next);
  EXPECT_TRUE(why_not_started(t.s, JobId{99, 0}).empty());
}

// A gang that waits for the whole cluster is compact by wish; that must not cost it its reservation.
TEST(Queue, ALongRunDoesNotPassAGangThatWaitsForACompactPlace) {
  Story t(4);
  const JobId trio = submit_for(t, 3, 1800);
  t.tell(JobStarted{trio, 1, {NodeId{0}, NodeId{1}, NodeId{2}}});
  const JobId whole = submit_for(t, 4, 2400);
  submit_for(t, 1, 216'000);
  EXPECT_TRUE(queue(t.s).empty()) << "the long one would run for days where the gang is to start in half an hour";
  const std::vector<Forecast> f = forecasts(t.s);
  ASSERT_FALSE(f.empty());
  EXPECT_EQ(f[0].id, whole);
  EXPECT_LE((f[0].at - t.s.mono()).seconds(), 1801);
}

TEST(Queue, WhatVictimsLeaveIsKeptForWhomTheyWereStopped) {
  Policy p = default_policy();
  p.queues = {{.name = "platform", .guaranteed_gpus = 16}};
  Story t(4, p);
  const JobId pair = submit_for(t, 2, 36'000);
  t.tell(JobStarted{pair, 1, {NodeId{0}, NodeId{1}}});
  const auto quarter = [](JobSpec& spec) { spec.gpu_milli = 250; };
  const JobId small = submit_for(t, 1, 36'000, quarter);
  t.tell(JobStarted{small, 1, {NodeId{2}}, {1}});
  t.pass(minutes(16));
  const JobId owner = submit_for(t, 2, 3600, [](JobSpec& spec) { spec.account = "platform"; });
  const auto w = queue(t.s);
  ASSERT_EQ(w.size(), 1U);
  EXPECT_EQ(w[0].action.verb, Verb::requeue_job);
  EXPECT_EQ(w[0].action.job, small);
  t.tell(OrderIntended{.order = {.key = "stop", .action = w[0].action, .reason = w[0].reason}});
  t.tell(JobEnded{small, 1, JobEnd::requeued});
  t.tell(OrderEnded{.key = "stop", .status = Status::done});
  t.pass(seconds(1));
  const auto next = queue(t.s);
  ASSERT_FALSE(next.empty());
  EXPECT_EQ(next[0].action.job, owner);
  for (const Wanted& x : next) {
    if (x.action.job != small) continue;
    EXPECT_EQ(std::count(next[0].action.nodes.begin(), next[0].action.nodes.end(), x.action.nodes[0]), 0);
  }
}

TEST(Queue, AForecastTellsHowLateItMayBe) {
  Story t(2);
  for (int i = 0; i < 20; ++i) t.s.histories.add("ada", "timed", minutes(i < 15 ? 60 : 600));  // most are short, some are not
  const auto by_ada = [](JobSpec& spec) { spec.user = "ada"; };
  const JobId runs = submit_for(t, 2, 86'400, by_ada);
  t.tell(JobStarted{runs, 1, {NodeId{0}, NodeId{1}}});
  const JobId waits = submit_for(t, 2, 86'400, by_ada);
  const std::vector<Forecast> f = forecasts(t.s);
  ASSERT_EQ(f.size(), 1U);
  EXPECT_EQ(f[0].id, waits);
  EXPECT_LE((f[0].at - t.s.mono()).seconds(), 2 * 3600.0);
  EXPECT_GE((f[0].late - t.s.mono()).seconds(), 10 * 3600.0);
  EXPECT_NE(why_not_started(t.s, waits).find("if what runs takes long"), std::string::npos);
}

TEST(Broken, AGangThatLostANodeIsRequeuedToItsCheckpoint) {
  Story t(4);
  const JobId j = t.running({NodeId{0}});
  t.tell(JobEnded{j, 1, JobEnd::node_failed, {100, 80, 0, 0, 0}, "rank lost"});
  const auto w = broken(t.s);
  ASSERT_EQ(w.size(), 1U);
  EXPECT_EQ(w[0].action.verb, Verb::requeue_job);
  EXPECT_EQ(w[0].action.attempt, 1U);
  EXPECT_NE(w[0].reason.sentence.find("20 steps are lost"), std::string::npos) << w[0].reason.sentence;
}

TEST(Broken, AGangThatLostANodeIsMendedNextToItsOthers) {
  Story t(8);  // leaves of four
  const JobId j = t.running({NodeId{0}, NodeId{1}});
  t.open(t.find(FindingKind::gpu_lost, NodeId{1}, 1));
  t.tell(JobEnded{j, 1, JobEnd::node_failed, {100, 80, 0, 0, 0}, "rank lost"});
  const auto w = broken(t.s);
  ASSERT_EQ(w.size(), 1U);
  EXPECT_EQ(w[0].action.verb, Verb::restart_job);
  EXPECT_EQ(w[0].action.attempt, 2U);
  ASSERT_EQ(w[0].action.nodes.size(), 2U);
  EXPECT_EQ(w[0].action.nodes[0], NodeId{0});
  EXPECT_LT(w[0].action.nodes[1].v, 4U) << "on the same leaf";
  EXPECT_EQ(w[0].placement.leaves, 1U);
  EXPECT_TRUE(w[0].reason.sentence.ends_with("; it continues from step 80: 20 steps are lost")) << w[0].reason.sentence;
  EXPECT_TRUE(w[0].reason.sentence.starts_with("1 of 2 nodes failed, replaced by")) << w[0].reason.sentence;
}

// Eight nodes, four of a gang that can go on with two, the rest taken; one of the gang's is lost.
struct NoSpare {
  Story t{8};
  JobId gang;
  explicit NoSpare(std::uint32_t nodes_min) {
    gang = t.running({NodeId{0}, NodeId{1}, NodeId{2}, NodeId{3}});
    t.running({NodeId{4}, NodeId{5}, NodeId{6}, NodeId{7}});
    JobSpec& spec = t.s.jobs.at(gang).spec;
    spec.nodes_min = nodes_min;
    spec.steps = 100'000;
    spec.checkpoint_every_s = 600;
    t.open(t.find(FindingKind::gpu_lost, NodeId{1}, 1));
  }
  std::vector<Wanted> breaks() {
    t.tell(JobEnded{gang, 1, JobEnd::node_failed, {100, 80, 60'000, 0, 0}, "rank lost"});
    return broken(t.s);
  }
};

TEST(Smaller, WithoutASpareAGangThatMayGoesOnWithWhatIsLeft) {
  NoSpare c(2);
  const auto w = c.breaks();
  ASSERT_EQ(w.size(), 1U);
  EXPECT_EQ(w[0].action.verb, Verb::restart_job);
  EXPECT_EQ(w[0].action.nodes, (std::vector<NodeId>{NodeId{0}, NodeId{2}, NodeId{3}}));
  EXPECT_EQ(w[0].reason.rule, "queue/smaller");
  ASSERT_EQ(w[0].reason.options.size(), 3U);
  // 32 GPUs, a minute to start, 780 s until a reboot has brought the node back: a quarter of the gang is missing, and it starts
  // twice.
  EXPECT_EQ(w[0].reason.options[0].what, "restart it smaller now");
  EXPECT_NEAR(w[0].reason.options[0].cost_gpu_h, 32 * (60 + 780 * 0.25 + 60) / 3600.0, 1e-9);
  EXPECT_EQ(w[0].reason.options[1].what, "send it back to the queue");
  EXPECT_NEAR(w[0].reason.options[1].cost_gpu_h, 32 * (60 + 780) / 3600.0, 1e-9);
  EXPECT_EQ(w[0].reason.options[2].cost_gpu_h, -1) << "no spare";
}

TEST(Smaller, OneThatNeedsAllOfItsNodesGoesBackToTheQueue) {
  NoSpare all(0);
  EXPECT_EQ(all.breaks().at(0).action.verb, Verb::requeue_job);
  NoSpare more(4);
  const auto w = more.breaks();
  EXPECT_EQ(w.at(0).action.verb, Verb::requeue_job);
  EXPECT_EQ(w.at(0).reason.options[0].what, "send it back to the queue");
  EXPECT_EQ(w.at(0).reason.options[2].why, "too few of its nodes are left for that");
}

TEST(Smaller, ASpareIsBetterAndANearEndIsWaitedFor) {
  NoSpare spare(2);
  spare.t.tell(JobEnded{JobId{2, 0}, 1, JobEnd::completed, {}, {}});
  const auto swapped = spare.breaks();
  EXPECT_EQ(swapped.at(0).action.nodes.size(), 4U);
  EXPECT_EQ(swapped.at(0).reason.options[0].what, "swap in a spare");

  NoSpare slow(2);  // it takes so long to start that the wait for the node costs less than two starts
  slow.t.s.jobs.at(slow.gang).spec.init_s = 1200;
  slow.t.tell(JobEnded{slow.gang, 1, JobEnd::node_failed, {100, 80, 0, 0, 0}, "rank lost"});
  EXPECT_EQ(broken(slow.t.s).at(0).action.verb, Verb::requeue_job);
}

std::vector<Wanted> growth(const State& s) {
  ClusterView view;
  view.update(s);
  Decisions out;
  decide_growth(s, view, out);
  return wanted(out);
}

TEST(Smaller, ItGrowsBackAtACheckpointWhenItsNodesAreFreeAndNobodyElseGetsThem) {
  Story t(4);
  const JobId j = t.submit(4);
  JobSpec& spec = t.s.jobs.at(j).spec;
  spec.nodes_min = 2;
  spec.steps = 100'000;
  t.tell(JobStarted{j, 1, {NodeId{0}, NodeId{2}, NodeId{3}}});
  t.submit(1);
  EXPECT_TRUE(queue(t.s).empty()) << "the free node is kept for it";
  EXPECT_TRUE(growth(t.s).empty()) << "but it has no fresh checkpoint";
  t.pass(minutes(30));
  t.tell(JobProgressed{j, 1, {180, 180, 60'000, 0, 0}});
  EXPECT_FALSE(t.s.dirty_nodes.empty()) << "somebody looks";
  const auto w = growth(t.s);
  ASSERT_EQ(w.size(), 1U);
  EXPECT_EQ(w[0].action.verb, Verb::restart_job);
  EXPECT_EQ(w[0].action.nodes.size(), 4U);
  EXPECT_EQ(w[0].reason.options[0].what, "restart it in full now");
  EXPECT_NEAR(w[0].reason.options[0].cost_gpu_h, 32 * 60 / 3600.0, 1e-9);
  EXPECT_NEAR(w[0].reason.options[1].cost_gpu_h, 32 * 0.25 * (99'820 * 10 / 0.75) / 3600.0, 1e-6);
}

TEST(Smaller, NothingIsKeptForOneThatWasRestartedOftenEnoughToday) {
  Story t(4);
  const JobId j = t.submit(4);
  t.s.jobs.at(j).spec.nodes_min = 2;
  t.s.jobs.at(j).spec.steps = 100'000;
  t.tell(JobStarted{j, 1, {NodeId{0}, NodeId{2}, NodeId{3}}});
  t.submit(1);
  EXPECT_TRUE(queue(t.s).empty());
  t.s.policy.scheduling.stops_per_day = 0;
  EXPECT_EQ(queue(t.s).size(), 1U) << "somebody else may have the node";
}

TEST(Smaller, ItIsLeftAsItIsWhereTheRestIsNotWorthARestart) {
  Story t(4);
  const JobId j = t.submit(4);
  JobSpec& spec = t.s.jobs.at(j).spec;
  spec.nodes_min = 2;
  spec.steps = 190;
  t.tell(JobStarted{j, 1, {NodeId{0}, NodeId{2}, NodeId{3}}});
  const JobId other = t.submit(1);
  t.pass(minutes(30));
  t.tell(JobProgressed{j, 1, {180, 180, 60'000, 0, 0}});
  EXPECT_TRUE(growth(t.s).empty()) << "a hundred seconds are left";
  ASSERT_EQ(queue(t.s).size(), 1U) << "and nothing is kept for it";
  EXPECT_EQ(queue(t.s)[0].action.job, other);
}

// Fails the job `times` times by its own word; returns what is decided after the last.
Wanted after_own_failures(Story& t, JobId j, std::uint32_t times) {
  for (std::uint32_t a = 1; a <= times; ++a) {
    if (a > 1) t.tell(JobRequeued{j});
    t.tell(JobStarted{j, a, {NodeId{0}}});
    t.tell(JobEnded{j, a, JobEnd::app_failed, {}, "exit code 1"});
  }
  const auto w = broken(t.s);
  EXPECT_EQ(w.size(), 1U);
  return w.at(0);
}

TEST(Broken, AProgramThatFailsThreeTimesByItselfIsGivenUp) {
  Story two(4);
  EXPECT_EQ(after_own_failures(two, two.submit(1), 2).action.verb, Verb::requeue_job);
  Story three(4);
  EXPECT_EQ(after_own_failures(three, three.submit(1), 3).action.verb, Verb::fail_job);
}

TEST(Broken, AProgramThatGetsOnBetweenItsFailuresIsNotGivenUp) {
  Story t(4);
  const JobId j = t.submit(1);
  for (std::uint32_t a = 1; a <= 60; ++a) {
    if (a > 1) t.tell(JobRequeued{j});
    t.tell(JobStarted{j, a, {NodeId{0}}});
    t.tell(JobEnded{j, a, a % 2 == 0 ? JobEnd::app_failed : JobEnd::node_failed, {100 * a, 100 * a, 0, 0, 0}, "exit code 1"});
  }
  const auto w = broken(t.s);
  ASSERT_EQ(w.size(), 1U);
  EXPECT_EQ(w[0].action.verb, Verb::requeue_job) << "nor for its many restarts";
}

TEST(Broken, AJobThatForbidsRequeueEndsWithItsAttempt) {
  Story t(4);
  const JobId j = t.running({NodeId{0}, NodeId{1}});
  t.s.jobs.at(j).spec.no_requeue = true;
  t.tell(JobEnded{j, 1, JobEnd::node_failed, {}, "node n0 is down"});
  const auto w = broken(t.s);
  ASSERT_EQ(w.size(), 1U);
  EXPECT_EQ(w[0].action.verb, Verb::fail_job);
  EXPECT_EQ(w[0].reason.rule, "queue/no_requeue");
}

TEST(Broken, TheNodeWhoseRankWasLostIsLeftOutWhereThereIsAnother) {
  const auto after = [](std::uint32_t nodes, JobEnd end, const std::string& words) {
    Story t(nodes);
    const JobId j = t.running({NodeId{0}, NodeId{1}});
    t.tell(JobEnded{j, 1, end, {100, 80, 0, 0, 0}, words});
    const auto w = broken(t.s);
    EXPECT_EQ(w.size(), 1U);
    return w.at(0).action;
  };
  Story names(2);
  const std::string n1 = names.s.site.nodes[1].name;
  const Action there = after(4, JobEnd::node_failed, "rank on " + n1 + " exited: CUDA error");
  EXPECT_EQ(there.verb, Verb::restart_job);
  ASSERT_EQ(there.nodes.size(), 2U);
  EXPECT_EQ(there.nodes[0], NodeId{0});
  EXPECT_NE(there.nodes[1], NodeId{1});
  EXPECT_EQ(after(2, JobEnd::node_failed, "rank on " + n1 + " exited").verb, Verb::requeue_job) << "there is no other";
  EXPECT_EQ(after(4, JobEnd::node_failed, "rank on " + n1 + "7 exited").verb, Verb::requeue_job) << "another node's name";
  EXPECT_EQ(after(4, JobEnd::app_failed, n1 + ": exit code 1").verb, Verb::requeue_job) << "the program's own failure";
}

TEST(Broken, TroubleOnANodeExcusesTheProgram) {
  Story t(4);
  const JobId j = t.submit(1);
  t.open(t.find(FindingKind::ecc_uncorrectable, NodeId{0}, 1));
  EXPECT_EQ(after_own_failures(t, j, 5).action.verb, Verb::requeue_job);
}

TEST(Broken, APolicyBoundsTheRestarts) {
  Policy p = default_policy();
  p.job_restarts_max = 2;
  Story t(4, p);
  const JobId j = t.submit(1);
  for (std::uint32_t a = 1; a <= 2; ++a) {
    t.tell(JobStarted{j, a, {NodeId{0}}});
    t.tell(JobEnded{j, a, JobEnd::node_failed, {}, {}});
  }
  const auto w = broken(t.s);
  ASSERT_EQ(w.size(), 1U);
  EXPECT_EQ(w[0].action.verb, Verb::fail_job);
}

TEST(Broken, NothingIsDecidedTwiceAndNothingWhilePaused) {
  Story t(4);
  const JobId j = t.running({NodeId{0}});
  t.tell(JobEnded{j, 1, JobEnd::node_failed, {}, {}});
  t.command(CommandVerb::pause, "p");
  EXPECT_TRUE(broken(t.s).empty());
  settle(t.s);
  t.command(CommandVerb::resume, "r");
  EXPECT_EQ(broken(t.s).size(), 1U) << "what was left undone";
  t.order(Verb::requeue_job, {}, {}, {}, j);
  EXPECT_TRUE(broken(t.s).empty());
  refresh(t.s);
  EXPECT_TRUE(broken(t.s).empty()) << "nor by a controller that has just started";
}

TEST(Deciding, TheSameStateGivesTheSameDecisions) {
  Story t(8);
  for (int i = 0; i < 5; ++i) t.submit(2);
  t.find(FindingKind::gpu_lost, NodeId{3}, 1);
  t.command(CommandVerb::drain, "d", NodeId{7});
  Decider a, b;
  const Decisions x = a.decide(t.s);
  const Decisions y = b.decide(t.s);
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(x[i].index(), y[i].index());
  const auto wx = wanted(x);
  const auto wy = wanted(y);
  for (std::size_t i = 0; i < wx.size(); ++i) {
    EXPECT_EQ(wx[i].action.nodes, wy[i].action.nodes);
    EXPECT_EQ(wx[i].reason.sentence, wy[i].reason.sentence);
  }
}

}  // namespace
}  // namespace muster::decide
