// What a state knows after its events, and that it depends on them alone.
#include <gtest/gtest.h>

#include "base/prng.h"
#include "model/codec.h"
#include "model/plain_json.h"
#include "model/story.h"

namespace muster {
namespace {

constexpr NodeId kN0{0}, kN1{1}, kN2{2};

State reread(const State& s) {
  auto v = PlainJson::parse(encode_state(s));
  EXPECT_TRUE(v);
  auto back = decode_state(*v);
  EXPECT_TRUE(back) << back.error().what;
  return back ? *back : State{};
}

// ---------------------------------------------------------------- jobs

TEST(FoldJobs, AGangHasItsNodesFromTheOrderToItsEnd) {
  Story t;
  const JobId j = t.submit(2);
  EXPECT_EQ(t.s.jobs.at(j).phase, JobPhase::queued);
  EXPECT_EQ(t.s.queue.size(), 1U);
  const std::string key = t.order_start(j, {kN0, kN1});
  EXPECT_EQ(t.s.jobs.at(j).phase, JobPhase::starting);
  EXPECT_TRUE(t.s.queue.empty());
  EXPECT_FALSE(room_for(t.s, kN0, 1, 1000));
  t.tell(JobStarted{j, 1, {kN0, kN1}});
  t.ends(key);
  EXPECT_EQ(t.s.jobs.at(j).phase, JobPhase::running);
  EXPECT_EQ(t.s.nodes[1].first_job(), j);
  t.tell(JobEnded{j, 1, JobEnd::completed, {}, {}});
  EXPECT_EQ(t.s.jobs.at(j).phase, JobPhase::completed);
  EXPECT_TRUE(room_for(t.s, kN0, 255, 1000));
  EXPECT_EQ(t.s.totals.jobs_completed, 1U);
}

TEST(FoldJobs, WhatAJobAsksForIsWhatTheEngineSaidLast) {
  Story t;
  const JobId j = t.submit(2);
  settle(t.s);
  JobSpec spec = t.s.jobs.at(j).spec;
  spec.barred = "held by its owner";
  t.tell(JobAmended{j, spec});
  EXPECT_EQ(t.s.jobs.at(j).spec.barred, "held by its owner");
  EXPECT_FALSE(ready(t.s.jobs.at(j)));
  EXPECT_TRUE(t.s.queue_dirty);
  t.tell(JobGone{j, JobEnd::cancelled});
  spec.barred.clear();
  t.tell(JobAmended{j, spec});
  EXPECT_EQ(t.s.jobs.at(j).spec.barred, "held by its owner") << "what has ended stays as it was";
}

TEST(FoldJobs, WhoseNodesTheEngineGaveAwayHasNoneLeft) {
  Story t;
  const JobId a = t.submit(2);
  t.order_start(a, {kN0, kN1});
  const JobId b = t.submit(1);
  t.tell(JobStarted{b, 1, {kN1}});
  EXPECT_TRUE(t.s.jobs.at(a).nodes.empty()) << "or it would give them back a second time";
  EXPECT_EQ(t.s.placed.count(a), 0U);
  EXPECT_TRUE(room_for(t.s, kN0, 255, 1000));
  EXPECT_FALSE(room_for(t.s, kN1, 255, 1000));
}

TEST(FoldJobs, ARestartKeepsNewNodesForTheGangUntilItRunsThere) {
  Story t;
  const JobId j = t.running({kN0, kN1});
  const std::string key = t.order_restart(j, {kN0, kN2});
  EXPECT_EQ(t.s.nodes[2].first_job(), j) << "kept for it";
  EXPECT_EQ(t.s.nodes[1].first_job(), j) << "and the old one is still its own";
  t.tell(JobEnded{j, 1, JobEnd::node_failed, {}, {}});
  EXPECT_EQ(t.s.nodes[2].first_job(), j);
  EXPECT_FALSE(t.s.nodes[1].busy());
  t.tell(JobStarted{j, 2, {kN0, kN2}});
  t.ends(key);
  EXPECT_EQ(t.s.jobs.at(j).phase, JobPhase::running);
  EXPECT_EQ(t.s.jobs.at(j).nodes, (std::vector<NodeId>{kN0, kN2}));
  EXPECT_TRUE(t.s.broken_jobs.empty()) << "nothing is left to decide";
}

TEST(FoldJobs, ARestartThatDidNotHappenGivesBackWhatWasKept) {
  Story t;
  const JobId j = t.running({kN0, kN1});
  t.ends(t.order_restart(j, {kN0, kN2}), Status::refused);
  EXPECT_FALSE(t.s.nodes[2].busy());
  EXPECT_EQ(t.s.nodes[1].first_job(), j);
  EXPECT_EQ(t.s.nodes[0].first_job(), j);
}

TEST(FoldJobs, GpusAreSharedUpToTheWhole) {
  Story t;
  JobSpec spec;
  spec.gpu_milli = 400;
  for (std::uint32_t i = 1; i <= 2; ++i) {
    t.tell(JobSubmitted{JobId{i, 0}, spec});
    t.tell(JobStarted{JobId{i, 0}, 1, {kN0}, {1}});
  }
  EXPECT_EQ(t.s.nodes[0].shares.size(), 2U);
  EXPECT_TRUE(room_for(t.s, kN0, 1, 200));
  EXPECT_FALSE(room_for(t.s, kN0, 1, 201));
  EXPECT_TRUE(room_for(t.s, kN0, 2, 1000));
  EXPECT_EQ(t.s.used.at("").held[0], 800);
  t.tell(JobEnded{JobId{1, 0}, 1, JobEnd::completed, {}, {}});
  EXPECT_EQ(t.s.used.at("").held[0], 400);
}

TEST(FoldJobs, WhatIsToldLateIsBookedWhenItWas) {
  Story t;
  const JobId j = t.submit(1);
  const Time now = t.now().utc;
  t.tell(JobStarted{j, 1, {kN0}, {}, now - hours(3)});
  EXPECT_EQ(t.s.jobs.at(j).started, now - hours(3));
  EXPECT_EQ(t.s.mono() - t.s.jobs.at(j).began, hours(3)) << "its time limit counts from there";
  t.tell(JobEnded{j, 1, JobEnd::completed, {}, {}, now - hours(1)});
  EXPECT_EQ(t.s.jobs.at(j).ended, now - hours(1));
  EXPECT_EQ(t.s.jobs.at(j).ran, hours(2));
  const JobId wrong = t.submit(1);
  t.tell(JobStarted{wrong, 1, {kN0}, {}, now + hours(3)});
  EXPECT_EQ(t.s.jobs.at(wrong).started, now) << "a time to come is a clock that is wrong";
}

TEST(FoldJobs, UseOfAQueueIsRememberedAndFades) {
  Story t;
  JobSpec spec;
  spec.account = "lab";
  t.tell(JobSubmitted{JobId{1, 0}, spec});
  t.tell(JobStarted{JobId{1, 0}, 1, {kN0}});
  t.pass(hours(1));
  t.tell(JobEnded{JobId{1, 0}, 1, JobEnd::completed, {}, {}});
  const double then = t.s.used.at("lab").past.amount[0];
  EXPECT_GT(then, 0);
  Usage later = t.s.used.at("lab").past;
  accrue(later, {}, t.s.mono() + t.s.policy.scheduling.half_life, t.s.policy.scheduling.half_life);
  EXPECT_NEAR(later.amount[0], then / 2, then * 1e-6);
}

TEST(FoldJobs, AStartThatDidNotHappenPutsTheJobBackInItsPlace) {
  Story t;
  const JobId first = t.submit(2);
  const JobId second = t.submit(1);
  const std::string key = t.order_start(first, {kN0, kN1});
  t.ends(key, Status::refused, "node n0 is busy");
  EXPECT_EQ(t.s.queue.begin()->second, first);
  EXPECT_EQ(t.s.queue.rbegin()->second, second);
  EXPECT_TRUE(placeable(t.s, kN0));
}

TEST(FoldJobs, FailuresInARowCountUntilAStepIsDurable) {
  Story t;
  const JobId j = t.running({kN0});
  const auto fail = [&](std::uint32_t attempt, JobEnd end, std::uint64_t durable) {
    if (attempt > 1) t.tell(JobStarted{j, attempt, {kN0}});
    t.tell(JobEnded{j, attempt, end, {durable, durable, 0, 0, 0}, "lost"});
  };
  fail(1, JobEnd::node_failed, 0);
  fail(2, JobEnd::app_failed, 0);
  EXPECT_EQ(t.s.jobs.at(j).fruitless, 2U);
  EXPECT_EQ(t.s.jobs.at(j).app_failures, 1U);
  fail(3, JobEnd::app_failed, 50);
  EXPECT_EQ(t.s.jobs.at(j).fruitless, 1U) << "it got on before it failed";
  EXPECT_EQ(t.s.jobs.at(j).app_failures, 1U);
  t.tell(JobStarted{j, 4, {kN0}});
  t.tell(JobProgressed{j, 4, {60, 60, 0, 0, 0}});
  EXPECT_EQ(t.s.jobs.at(j).fruitless, 0U);
  EXPECT_EQ(t.s.jobs.at(j).restarts, 3U) << "all that were lost";
}

TEST(FoldJobs, ABrokenGangWaitsForADecisionAndKeepsItsPlaceInTheQueue) {
  Story t;
  const JobId broken = t.running({kN0});
  const JobId later = t.submit(1);
  t.tell(JobEnded{broken, 1, JobEnd::node_failed, {}, "rank lost"});
  EXPECT_EQ(t.s.broken_jobs.count(broken), 1U);
  EXPECT_EQ(t.s.jobs.at(broken).restarts, 1U);
  const std::string key = t.order(Verb::requeue_job, {}, {}, {}, broken);
  EXPECT_EQ(t.s.broken_jobs.count(broken), 0U) << "an order is on its way: not decided twice";
  t.tell(JobRequeued{broken});
  t.ends(key);
  EXPECT_EQ(t.s.queue.begin()->second, broken);
  EXPECT_EQ(t.s.queue.rbegin()->second, later);
}

TEST(FoldJobs, ARequeueThatFailedIsDecidedAgain) {
  Story t;
  const JobId j = t.running({kN0});
  t.tell(JobEnded{j, 1, JobEnd::node_failed, {}, {}});
  t.ends(t.order(Verb::requeue_job, {}, {}, {}, j), Status::not_received);
  EXPECT_EQ(t.s.broken_jobs.count(j), 1U);
}

TEST(FoldJobs, WhatIsSaidOfAnotherAttemptChangesNothing) {
  Story t;
  const JobId j = t.running({kN0});
  t.tell(JobEnded{j, 1, JobEnd::node_failed, {}, {}});
  t.tell(JobRequeued{j});
  t.tell(JobStarted{j, 2, {kN1}});
  const std::string before = encode_job(t.s.jobs.at(j));
  t.tell(JobEnded{j, 1, JobEnd::completed, {}, {}});
  t.tell(JobProgressed{j, 1, {99, 99, 0, 0, 0}});
  EXPECT_EQ(encode_job(t.s.jobs.at(j)), before);
  EXPECT_EQ(t.s.nodes[1].first_job(), j);
}

TEST(FoldJobs, OnlyTheLastEndedJobsAreKept) {
  Story t(2);
  for (std::size_t i = 0; i < kEndedJobsKept + 50; ++i) t.tell(JobEnded{t.running({kN0}), 1, JobEnd::completed, {}, {}});
  EXPECT_EQ(t.s.jobs.size(), kEndedJobsKept);
  EXPECT_EQ(t.s.totals.jobs_completed, kEndedJobsKept + 50);
}

TEST(FoldJobs, OneArrayDoesNotPushTheOthersOut) {
  Story t(2);
  const JobId before = t.running({kN0});
  t.tell(JobEnded{before, 1, JobEnd::completed, {}, {}});
  JobSpec spec;
  for (std::uint32_t i = 1; i <= kMembersKept + 20; ++i) {
    const JobId member{900, i};
    t.tell(JobSubmitted{member, spec});
    t.tell(JobStarted{member, 1, {kN0}});
    t.tell(JobEnded{member, 1, i == 2 ? JobEnd::cancelled : JobEnd::completed, {}, {}});
  }
  EXPECT_TRUE(t.s.jobs.count(before) != 0);
  EXPECT_EQ(t.s.jobs.size(), kMembersKept + 1);
  EXPECT_TRUE(t.s.jobs.count(JobId{900, 2}) != 0) << "that one did not complete is remembered longer";
  EXPECT_TRUE(t.s.jobs.count(JobId{900, 1}) == 0);
  State again = reread(t.s);
  refresh(again);
  EXPECT_EQ(again.ended_members, t.s.ended_members);
}

TEST(FoldJobs, ATimeLimitIsTheEndAndNobodysFault) {
  Story t;
  const JobId j = t.running({kN0});
  t.tell(JobEnded{j, 1, JobEnd::timed_out, {}, "time limit of 30m 00s reached"});
  EXPECT_EQ(t.s.jobs.at(j).phase, JobPhase::failed);
  EXPECT_EQ(t.s.jobs.at(j).restarts, 0U);
  EXPECT_TRUE(t.s.broken_jobs.empty());
  EXPECT_FALSE(t.s.nodes[0].busy());
  EXPECT_EQ(t.s.totals.jobs_timed_out, 1U);
}

TEST(FoldJobs, ScarceModelsAreCountedApart) {
  Policy p = default_policy();
  QueueSpec lab;
  lab.name = "lab";
  lab.models = {{"H200", 8, 0}};
  p.queues = {lab};
  Story t(4, p);
  JobSpec spec;
  spec.queue = "lab";
  spec.gpu_model = "H200";
  t.tell(JobSubmitted{{70, 0}, spec});
  t.tell(JobStarted{{70, 0}, 1, {kN0}});
  const auto first = static_cast<std::size_t>(Resource::first_model);
  EXPECT_EQ(t.s.used.at("lab").held[first], 8000);
  t.tell(PolicyApplied{default_policy(), "none"});
  EXPECT_EQ(t.s.used.at("lab").held, (Amounts{8000, 0, 0, 0}));
  t.tell(PolicyApplied{p, "again"});
  EXPECT_EQ(t.s.used.at("lab").held[first], 8000);
  t.tell(JobEnded{{70, 0}, 1, JobEnd::completed, {}, {}});
  EXPECT_EQ(t.s.used.at("lab").held, (Amounts{}));
}

TEST(FoldJobs, RequeueingAGangThatBrokeByItselfIsNoHarmOfMusters) {
  Story t;
  const JobId j = t.running({kN0});
  t.tell(JobEnded{j, 1, JobEnd::node_failed, {}, {}});
  t.order(Verb::requeue_job, {}, {}, {}, j);
  EXPECT_TRUE(t.s.harms.empty());
}

// ---------------------------------------------------------------- holds

TEST(FoldHolds, ADrainCountsAsOutFromTheMomentItIsMeant) {
  Story t;
  const IncidentId i = t.open(t.find(FindingKind::gpu_lost, kN0, 1));
  const std::string key = t.order(Verb::drain_node, kN0, i);
  EXPECT_EQ(t.s.out_nodes.count(kN0), 1U);
  EXPECT_EQ(t.s.nodes[0].hold, Hold::none);
  t.ends(key);
  EXPECT_EQ(t.s.nodes[0].hold, Hold::muster);
  t.ends(t.order(Verb::undrain_node, kN0, i));
  EXPECT_EQ(t.s.nodes[0].hold, Hold::none);
  EXPECT_TRUE(t.s.out_nodes.empty());
}

TEST(FoldHolds, ADrainThatFailedIsNotOut) {
  Story t;
  t.ends(t.order(Verb::drain_node, kN0, t.open(t.find(FindingKind::gpu_lost, kN0, 1))), Status::refused);
  EXPECT_TRUE(t.s.out_nodes.empty());
  EXPECT_EQ(t.s.nodes[0].hold, Hold::none);
}

TEST(FoldHolds, APersonsDrainIsNotMustersBudget) {
  Story t;
  t.drained(kN0, {}, "wish");
  EXPECT_EQ(t.s.nodes[0].hold, Hold::person);
  EXPECT_TRUE(t.s.out_nodes.empty());
  EXPECT_TRUE(t.s.harms.empty());
}

TEST(FoldHolds, WhatIsDoneAtTheEngineItselfIsAPersonsWord) {
  Story t;
  t.tell(NodeHeld{kN0, true, "root", "bad fan"});
  EXPECT_EQ(t.s.nodes[0].hold, Hold::person);
  EXPECT_EQ(t.s.nodes[0].hold_reason, "bad fan");
  EXPECT_FALSE(placeable(t.s, kN0));
  EXPECT_TRUE(t.s.out_nodes.empty()) << "not of Muster's budget";
  t.tell(NodeHeld{kN0, false, "root", {}});
  EXPECT_TRUE(placeable(t.s, kN0));
  t.drained(kN1, t.open(t.find(FindingKind::gpu_lost, kN1, 1)));
  EXPECT_EQ(t.s.out_nodes.count(kN1), 1U);
  t.tell(NodeHeld{kN1, true, "root", "mine now"});
  EXPECT_EQ(t.s.nodes[1].hold, Hold::person);
  EXPECT_TRUE(t.s.out_nodes.empty());
}

TEST(FoldHolds, MustersOwnOrdersNeverLiftAPersonsHold) {
  Story t;
  const IncidentId i = t.open(t.find(FindingKind::gpu_lost, kN0, 1));
  const std::string mine = t.order(Verb::drain_node, kN0, i);
  t.drained(kN0, {}, "wish");  // a person was quicker
  t.ends(mine);
  EXPECT_EQ(t.s.nodes[0].hold, Hold::person);
  const std::string back = t.order(Verb::undrain_node, kN0, i);
  t.ends(back);
  EXPECT_EQ(t.s.nodes[0].hold, Hold::person);
  t.ends(t.order(Verb::undrain_node, kN0, {}, "wish2"));
  EXPECT_EQ(t.s.nodes[0].hold, Hold::none);
}

// ---------------------------------------------------------------- what agents know

TEST(FoldFacts, TheNewestWordAboutAGpuStandsAndCopiesShareIt) {
  Story t(4);
  t.tell(GpuIdentified{kN1, {2, "GPU-a", "11", "v1", "p"}});
  t.tell(GpuIdentified{kN1, {0, "GPU-b", "12", "v1", "p"}});
  const State copy = t.s;
  EXPECT_EQ(&copy.nodes[1].known.sheet(), &t.s.nodes[1].known.sheet());
  t.tell(GpuIdentified{kN1, {2, "GPU-c", "13", "v2", "p"}});
  t.tell(NodeDescribed{kN1, {{"kernel", "6.1"}}});
  ASSERT_NE(find_gpu(t.s, kN1, 2), nullptr);
  EXPECT_EQ(find_gpu(t.s, kN1, 2)->serial, "13");
  EXPECT_EQ(find_gpu(t.s, kN1, 0)->serial, "12");
  EXPECT_EQ(find_gpu(copy, kN1, 2)->serial, "11");
  EXPECT_EQ(find_gpu(t.s, kN1, 1), nullptr);
  EXPECT_EQ(find_gpu(t.s, NodeId{77}, 0), nullptr);
  EXPECT_EQ(t.s.nodes[1].known.sheet().facts.size(), 1U);
  const auto back = decode_state(*PlainJson::parse(encode_state(t.s)));
  ASSERT_TRUE(back);
  EXPECT_EQ(encode_state(*back), encode_state(t.s));
}

// ---------------------------------------------------------------- what does not fit

TEST(FoldOddities, UnknownThingsAreIgnored) {
  Story t(4);
  const std::string before = encode_state(t.s);
  const JobId nobody{999, 0};
  for (const Body& b :
       std::vector<Body>{JobStarted{nobody, 1, {kN0}}, JobProgressed{nobody, 1, {}}, JobEnded{nobody, 1, {}, {}, {}},
                         JobRequeued{nobody}, JobGone{nobody, {}}, NodeChanged{NodeId{77}, NodeCondition::down, {}},
                         GpuSwapped{NodeId{77}, 1, {}}, FindingGrew{FindingId{5}, {}, {}}, FindingCleared{FindingId{5}, {}},
                         OrderEnded{"nope", Status::done, {}}, IncidentOpened{IncidentId{3}, FindingId{5}},
                         IncidentJoined{IncidentId{3}, FindingId{5}}, IncidentMoved{IncidentId{3}, {}, 0, {}, {}},
                         IncidentClosed{IncidentId{3}, {}}, GpuIdentified{NodeId{77}, {}}, NodeDescribed{NodeId{77}, {}}}) {
    const std::uint64_t seq = t.s.seq;
    t.tell(b);
    t.s.seq = seq;
    EXPECT_EQ(encode_state(t.s), before) << kBodyNames[b.index()];
  }
}

TEST(FoldOddities, RepeatsChangeNothing) {
  Story t;
  const JobId j = t.submit(1);
  const FindingId f = t.find(FindingKind::gpu_lost, kN0, 1);
  const IncidentId i = t.open(f);
  const std::string key = t.order(Verb::drain_node, kN0, i);
  t.ends(key);
  t.tell(IncidentMoved{i, Stage::emptying, 0, t.s.mono() + hours(1), "drained"});
  t.command(CommandVerb::drain, "c1", kN1);
  const Finding finding = t.s.findings.at(f);
  const Order order = t.s.orders.at(key).order;
  t.tell(FindingCleared{f, "gone"});
  const std::string before = encode_state(t.s);
  const auto timers = t.s.timers;
  CommandGiven again;
  again.id = "c1";
  again.verb = CommandVerb::drain;
  for (const Body& b :
       std::vector<Body>{JobSubmitted{j, {}}, FindingOpened{finding}, FindingCleared{f, "gone"}, IncidentOpened{i, f},
                         OrderIntended{order, {}}, OrderEnded{key, Status::failed, "late"}, again}) {
    const std::uint64_t seq = t.s.seq;
    t.tell(b);
    t.s.seq = seq;
    EXPECT_EQ(encode_state(t.s), before) << kBodyNames[b.index()];
    EXPECT_EQ(t.s.timers, timers) << kBodyNames[b.index()];
    EXPECT_TRUE(t.s.open_orders.empty()) << kBodyNames[b.index()];
  }
}

TEST(FoldOddities, EvidenceIsBoundedAndKeepsItsFirst) {
  Story t;
  const FindingId f = t.find(FindingKind::gpu_lost, kN0, 1, Witness::kernel_log);
  for (int i = 0; i < 100; ++i) t.tell(FindingGrew{f, Severity::critical, {Witness::scrape, Time{i}, {}, std::to_string(i)}});
  const Finding& x = t.s.findings.at(f);
  EXPECT_EQ(x.evidence.size(), kEvidenceMax);
  EXPECT_EQ(x.evidence.front().text, "seen");
  EXPECT_EQ(x.evidence.back().text, "99");
}

TEST(FoldOddities, AnOrderOfUnknownFateStaysOpen) {
  Story t;
  const std::string key = t.order(Verb::drain_node, kN0, t.open(t.find(FindingKind::gpu_lost, kN0, 1)));
  t.ends(key, Status::unknown);
  EXPECT_EQ(t.s.open_orders.count(key), 1U);
  EXPECT_EQ(t.s.out_nodes.count(kN0), 1U);
  t.ends(key);
  EXPECT_TRUE(t.s.open_orders.empty());
  EXPECT_EQ(t.s.nodes[0].hold, Hold::muster);
}

// ---------------------------------------------------------------- time

TEST(FoldTime, SettingTheWallClockMovesNoTimer) {
  for (const Duration jump : {days(1), days(-1)}) {
    Story t;
    const Time before = t.s.mono();
    t.set_clock(jump);
    t.pass(seconds(10));
    EXPECT_EQ(t.s.mono(), before + seconds(10));
  }
}

TEST(FoldTime, MonotonicTimeNeverGoesBack) {
  Prng prng(7, "clock");
  Story t;
  Time last = t.s.mono();
  for (int i = 0; i < 2000; ++i) {
    const auto by = static_cast<std::int64_t>(prng.below(2'000'000)) - 1'000'000;
    const bool restart = prng.chance(0.1);
    t.set_steady(milliseconds(by));
    if (restart) t.tell(RunStarted{"test", t.s.epoch + 1, 1, "j", t.now()});
    t.pass(seconds(1));
    EXPECT_GE(t.s.mono(), last);
    last = t.s.mono();
  }
}

TEST(FoldTime, ARestartOnAMachineWithAnotherClockGoesOnWhereTheTimeStood) {
  Story t;
  t.pass(hours(3));
  const Time before = t.s.mono();
  t.set_steady(days(-400));  // another boot: the steady clock begins anew
  t.tell(RunStarted{"test", 2, 1, "j", t.now()});
  EXPECT_EQ(t.s.mono(), before);
  t.pass(seconds(5));
  EXPECT_EQ(t.s.mono(), before + seconds(5));
}

TEST(FoldTime, HarmsAreForgottenAfterADayAndOpeningsAfterTwoHours) {
  Story t;
  t.drained(kN0, t.open(t.find(FindingKind::gpu_lost, kN0, 1)));
  EXPECT_EQ(t.s.harms.size(), 1U);
  EXPECT_EQ(t.s.openings.size(), 1U);
  t.pass(hours(2) + seconds(1));
  EXPECT_EQ(t.s.harms.size(), 1U);
  EXPECT_TRUE(t.s.openings.empty());
  t.pass(hours(22));
  EXPECT_TRUE(t.s.harms.empty());
}

// ---------------------------------------------------------------- incidents and people

TEST(FoldHolds, WhatTheEngineNeverGotWasNoHarm) {
  Story t;
  const JobId j = t.running({kN0});
  const IncidentId i = t.open(t.find(FindingKind::gpu_lost, kN0, 1));
  const std::string requeue = t.order(Verb::requeue_job, kN0, i, {}, j);
  const std::string drain = t.order(Verb::drain_node, kN0, i);
  EXPECT_EQ(t.s.harms.size(), 2U);
  t.ends(drain, Status::not_received);
  ASSERT_EQ(t.s.harms.size(), 1U);
  EXPECT_EQ(t.s.harms.front().verb, Verb::requeue_job);
  t.ends(requeue, Status::failed);
  EXPECT_EQ(t.s.harms.size(), 1U) << "what was tried counts";
}

TEST(FoldIncidents, OfANodeThatWasTestedAndPutBackNothingIsLeft) {
  Story t;
  const FindingId f = t.find(FindingKind::gpu_lost, kN0, 1);
  const IncidentId i = t.open(f);
  const FindingId cause = t.find(FindingKind::common_cause, {}, -1);
  t.s.findings.at(cause).subject = "driver 580.1.01";
  t.tell(FindingGrew{f, Severity::critical, {}, cause});
  ASSERT_NE(cause_of(t.s, t.s.findings.at(f)), nullptr);
  t.tell(IncidentMoved{i, Stage::returning, 0, kNever, {}});
  t.tell(IncidentClosed{i, "back in service"});
  EXPECT_NE(t.s.findings.at(f).cleared.ns, 0) << "or it hides what strikes the node next";
}

TEST(FoldIncidents, AGraverFindingBecomesTheCause) {
  Story t;
  const IncidentId i = t.open(t.find(FindingKind::thermal_throttle, kN0, 1, Witness::scrape, Severity::warning));
  const FindingId graver = t.find(FindingKind::gpu_lost, kN0, 5);
  settle(t.s);
  t.tell(IncidentJoined{i, graver});
  EXPECT_EQ(t.s.incidents.at(i).cause, FindingKind::gpu_lost);
  EXPECT_EQ(t.s.incidents.at(i).slot, 5);
  EXPECT_EQ(t.s.dirty_nodes.count(kN0), 1U) << "or a view of the cluster goes on taking it for a node to start on";
}

TEST(FoldIncidents, ClosingEndsItsFindingsAndFreesTheNode) {
  Story t;
  const FindingId f = t.find(FindingKind::gpu_lost, kN0, 1);
  const IncidentId i = t.open(f);
  EXPECT_FALSE(placeable(t.s, kN0));
  t.tell(IncidentClosed{i, "fixed"});
  EXPECT_TRUE(placeable(t.s, kN0));
  EXPECT_NE(t.s.findings.at(f).cleared.ns, 0);
  EXPECT_TRUE(t.s.timers.empty());
}

TEST(FoldPeople, PauseAndResumeAreNotWishes) {
  Story t;
  t.command(CommandVerb::pause, "p");
  EXPECT_TRUE(t.s.paused);
  EXPECT_EQ(t.s.paused_by, "ada");
  EXPECT_TRUE(t.s.wishes.empty());
  settle(t.s);
  t.command(CommandVerb::resume, "r");
  EXPECT_FALSE(t.s.paused);
  EXPECT_EQ(t.s.dirty_nodes.size(), t.s.nodes.size()) << "everything is looked at again";
}

TEST(FoldPeople, AWishIsAnsweredOnceByItsOrderOrItsRefusal) {
  Story t;
  t.command(CommandVerb::drain, "a", kN0);
  t.command(CommandVerb::drain, "b", kN1);
  EXPECT_EQ(t.s.wishes.size(), 2U);
  t.order(Verb::drain_node, kN0, {}, "a");
  ASSERT_EQ(t.s.wishes.size(), 1U);
  Reason r;
  r.wish = "b";
  t.tell(OrderRefused{{}, r, "no", {}});
  EXPECT_TRUE(t.s.wishes.empty());
}

// ---------------------------------------------------------------- any history at all

// A body that may fit or may not: ids are drawn from a small range so that they often meet.
struct Chance {
  Story& t;
  Prng& prng;
  NodeId node() { return NodeId{static_cast<std::uint32_t>(prng.below(t.s.nodes.size() + 1))}; }
  JobId job() { return JobId{static_cast<std::uint32_t>(1 + prng.below(12)), 0}; }
  FindingId finding() { return FindingId{1 + prng.below(t.s.next_finding + 1)}; }
  IncidentId incident() { return IncidentId{1 + prng.below(t.s.next_incident + 1)}; }
  std::string key() { return "j-" + std::to_string(1 + prng.below(t.s.totals.orders + 1)); }
  template <NamedEnum E>
  E any() {
    return static_cast<E>(prng.below(names(E{}).size()));
  }

  void job_event() {
    const JobId j = job();
    const NodeId n = node();
    const auto attempt = static_cast<std::uint32_t>(1 + prng.below(3));
    const auto end = any<JobEnd>();
    switch (prng.below(7)) {
      case 0: return t.tell(JobSubmitted{j, {}});
      case 1: return t.tell(JobStarted{j, attempt, {n}});
      case 2: return t.tell(JobProgressed{j, attempt, {5, 4, 3, 2, 1}});
      case 3: return t.tell(JobEnded{j, attempt, end, {}, {}});
      case 4: return t.tell(JobRequeued{j});
      case 5: return t.tell(JobGone{j, end});
      default:
        if (t.s.jobs.count(j) != 0) t.order_start(j, {n});
    }
  }
  void health_event() {
    const NodeId n = node();
    const FindingId f = finding();
    const IncidentId i = incident();
    const auto kind = any<FindingKind>();
    const auto stage = any<Stage>();
    const auto condition = any<NodeCondition>();
    const auto due = static_cast<std::int64_t>(prng.below(3));
    switch (prng.below(9)) {
      case 0: return t.tell(NodeChanged{n, condition, {}});
      case 1: t.find(kind, n, 1); return;
      case 2: return t.tell(FindingGrew{f, Severity::critical, {}});
      case 3: return t.tell(FindingCleared{f, "x"});
      case 4: return t.tell(IncidentOpened{IncidentId{t.s.next_incident}, f});
      case 5: return t.tell(IncidentJoined{i, f});
      case 6:
        return t.tell(
            IncidentMoved{i, stage == Stage::closed ? Stage::held : stage, 1, due == 0 ? kNever : t.s.mono() + hours(due), "m"});
      case 7: return t.tell(IncidentClosed{i, "c"});
      default: return t.tell(CauseFrozen{kind, t.s.mono() + hours(1), "f"});
    }
  }
  void order_event() {
    const NodeId n = node();
    const IncidentId i = incident();
    const JobId j = job();
    const auto verb = any<Verb>();
    const auto status = any<Status>();
    const std::string k = key();
    const bool wish = prng.chance(0.3);
    switch (prng.below(3)) {
      case 0:
        if (verb != Verb::start_job) t.order(verb, n, i, wish ? "w" : "", j);
        return;
      case 1: return t.ends(k, status);
      default: return t.command(wish ? CommandVerb::pause : CommandVerb::resume, "c" + std::to_string(t.s.seq));
    }
  }
  void one() {
    const std::uint64_t what = prng.below(10);
    const auto wait = static_cast<std::int64_t>(prng.below(4000));
    if (what < 3) return job_event();
    if (what < 6) return health_event();
    if (what < 9) return order_event();
    t.pass(seconds(wait));
  }
};

TEST(FoldAnything, AStateReadBackFromItsBytesLivesOnTheSame) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Prng prng(seed, "anything");
    Story t(5);
    Chance chance{t, prng};
    for (int i = 0; i < 300; ++i) chance.one();
    State copy = reread(t.s);
    EXPECT_EQ(encode_state(copy), encode_state(t.s)) << "seed " << seed;
    t.heard = [&](const Event& e) { fold(copy, e); };
    for (int i = 0; i < 200; ++i) chance.one();
    ASSERT_EQ(encode_state(copy), encode_state(t.s)) << "seed " << seed;
  }
}

TEST(FoldAnything, WhatIsKeptAtHandIsWhatWouldBeWorkedOut) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Prng prng(seed, "at hand");
    Story t(5);
    Chance chance{t, prng};
    for (int i = 0; i < 400; ++i) {
      chance.one();
      State fresh = t.s;
      refresh(fresh);
      ASSERT_EQ(t.s.timers, fresh.timers) << "seed " << seed << " step " << i;
      ASSERT_EQ(t.s.out_nodes, fresh.out_nodes) << "seed " << seed << " step " << i;
      ASSERT_EQ(t.s.open_orders, fresh.open_orders) << "seed " << seed << " step " << i;
    }
  }
}

TEST(FoldAnything, ExactlyTheQueuedJobsAreInTheQueue) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Prng prng(seed, "two gangs");
    Story t(5);
    Chance chance{t, prng};
    for (int i = 0; i < 400; ++i) chance.one();
    for (const auto& [id, j] : t.s.jobs) {
      EXPECT_EQ(j.phase == JobPhase::queued, t.s.queue.count({j.order, id}) == 1) << "seed " << seed << " job " << render(id);
    }
  }
}

}  // namespace
}  // namespace muster
