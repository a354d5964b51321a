// An incident, step by step: each test tells what happened and sees what is wanted next.
#include "decide/recover.h"

#include <gtest/gtest.h>

#include "model/story.h"

namespace muster::decide {
namespace {

constexpr NodeId kN0{0}, kN1{1};

class Recovery : public ::testing::Test {
 protected:
  explicit Recovery(std::uint32_t nodes = 8) : t(nodes) {
    t.s.policy.scheduling.repair = false;  // gangs go back to the queue; mending has its own tests
    settle(t.s);
  }

  // Decides until nothing changes, as a turn does. What is wanted becomes an order, or a refusal for verbs in `refused`.
  std::vector<Verb> decide() {
    std::vector<Verb> ordered;
    for (int pass = 0; pass < 20; ++pass) {
      Decisions out;
      ClusterView view;
      view.update(t.s);
      decide_recovery(t.s, view, out);
      settle(t.s);
      if (out.empty()) return ordered;
      for (Decision& d : out) {
        if (auto* b = std::get_if<Body>(&d)) {
          t.tell(std::move(*b));
          continue;
        }
        const auto& w = std::get<Wanted>(d);
        last = w;
        EXPECT_FALSE(w.reason.sentence.empty());
        EXPECT_FALSE(w.reason.rule.empty());
        if (refused.count(w.action.verb) != 0) {
          t.tell(OrderRefused{w.action, w.reason, "limit", t.s.mono() + minutes(30)});
          continue;
        }
        Order o;
        o.key = key = "j-" + std::to_string(t.s.totals.orders + 1);
        o.action = w.action;
        o.reason = w.reason;
        t.tell(OrderIntended{o, {}});
        ordered.push_back(w.action.verb);
      }
    }
    ADD_FAILURE() << "decisions feed on each other";
    return ordered;
  }
  std::vector<Verb> later(Duration d) {
    t.pass(d);
    return decide();
  }
  // The last order ended so; what is wanted then.
  std::vector<Verb> then(Status status, const std::string& detail = {}) {
    t.pass(seconds(1));
    t.ends(key, status, detail);
    return decide();
  }
  // The node was asked for its counters before a person is sent to it.
  std::vector<Verb> replace_after_probe() {
    EXPECT_EQ(then(Status::done, "slot 3: 7 uncorrectable ECC errors"), std::vector<Verb>{});
    return later(seconds(6));
  }
  const Incident& incident() const { return t.s.incidents.rbegin()->second; }

  using V = std::vector<Verb>;
  Story t;
  std::set<Verb> refused;
  Wanted last;
  std::string key;
};

TEST_F(Recovery, AWitnessedFaultOnAnIdleNodeIsDrainedRepairedTestedAndReturned) {
  t.find(FindingKind::gpu_lost, kN0, 3);
  EXPECT_EQ(decide(), V{Verb::drain_node});
  EXPECT_EQ(last.reason.incident, incident().id);
  EXPECT_EQ(last.reason.findings, incident().findings);
  EXPECT_EQ(then(Status::done), V{Verb::reboot_node});
  EXPECT_EQ(incident().stage, Stage::repairing);
  EXPECT_EQ(then(Status::done), V{Verb::test_node});
  EXPECT_EQ(then(Status::done, "passed"), V{Verb::undrain_node});
  EXPECT_EQ(then(Status::done), V{});
  EXPECT_EQ(incident().stage, Stage::closed);
  EXPECT_TRUE(placeable(t.s, kN0));
}

TEST_F(Recovery, EachFailedTestAfterARepairLeadsOneRungUpAndTheLastToAPerson) {
  t.find(FindingKind::gpu_lost, kN0, 3);
  decide();
  EXPECT_EQ(then(Status::done), V{Verb::reboot_node});
  then(Status::done);
  EXPECT_EQ(then(Status::failed, "GPU 3 does not answer"), V{Verb::power_cycle_node});
  then(Status::done);
  EXPECT_EQ(then(Status::failed, "GPU 3 does not answer"), V{Verb::probe_node}) << "whoever replaces it wants its counters";
  EXPECT_EQ(replace_after_probe(), V{Verb::replace_node});
  then(Status::done);
  EXPECT_EQ(then(Status::failed, "GPU 3 does not answer"), V{});
  EXPECT_EQ(incident().stage, Stage::held);
  EXPECT_EQ(later(days(3)), V{}) << "a person has it now";
}

TEST_F(Recovery, ARepairThatFailedLeadsOneRungUpToo) {
  t.find(FindingKind::ecc_uncorrectable, kN0, 3);
  decide();
  EXPECT_EQ(then(Status::done), V{Verb::reset_gpu});
  EXPECT_EQ(last.action.slot, 3) << "a reset is of one GPU";
  EXPECT_EQ(then(Status::failed, "no answer"), V{Verb::reboot_node});
  EXPECT_EQ(last.action.slot, -1);
}

TEST_F(Recovery, ARepairThatWasNeverReceivedIsTriedAgainAfterAWhileOnTheSameRung) {
  t.find(FindingKind::gpu_lost, kN0, 3);
  decide();
  EXPECT_EQ(then(Status::done), V{Verb::reboot_node});
  EXPECT_EQ(then(Status::not_received), V{});
  EXPECT_EQ(later(seconds(30)), V{});
  EXPECT_EQ(later(seconds(31)), V{Verb::reboot_node});
}

TEST_F(Recovery, ATestOrAReturnThatWasNeverReceivedIsAskedForAgainAndNotTheRepairBeforeIt) {
  t.find(FindingKind::gpu_lost, kN0, 3);
  decide();
  then(Status::done);
  EXPECT_EQ(then(Status::done), V{Verb::test_node});
  EXPECT_EQ(then(Status::not_received), V{});
  EXPECT_EQ(later(minutes(1)), V{Verb::test_node});
  EXPECT_EQ(then(Status::done, "passed"), V{Verb::undrain_node});
  EXPECT_EQ(then(Status::not_received), V{});
  EXPECT_EQ(later(minutes(1)), V{Verb::undrain_node});
  EXPECT_EQ(then(Status::done), V{});
  EXPECT_EQ(incident().stage, Stage::closed);
}

TEST_F(Recovery, AnOrderOfUnknownFateIsWaitedFor) {
  t.find(FindingKind::gpu_lost, kN0, 3);
  decide();
  EXPECT_EQ(then(Status::unknown), V{});
  EXPECT_EQ(later(minutes(20)), V{});
  EXPECT_EQ(then(Status::done), V{Verb::reboot_node});
}

TEST_F(Recovery, WhereOneWitnessSpeaksTheNodeIsAskedAndThenTestedBeforeAnythingIsRepaired) {
  t.find(FindingKind::gpu_lost, kN0, 3, Witness::kernel_log);
  decide();
  EXPECT_EQ(then(Status::done), V{Verb::probe_node});
  EXPECT_EQ(then(Status::done), V{}) << "the answer comes as a scrape";
  EXPECT_EQ(later(seconds(5)), V{Verb::test_node});
  EXPECT_EQ(then(Status::done, "passed"), V{Verb::undrain_node});
}

TEST_F(Recovery, ANodeThatConfirmsTheFaultItselfNeedsNoTest) {
  const FindingId f = t.find(FindingKind::gpu_lost, kN0, 3, Witness::kernel_log);
  decide();
  EXPECT_EQ(then(Status::done), V{Verb::probe_node});
  t.tell(FindingGrew{f, Severity::critical, {Witness::scrape, t.now().utc, {}, "missing"}});
  then(Status::done);
  later(seconds(5));
  EXPECT_EQ(last.action.verb, Verb::reboot_node);
}

TEST_F(Recovery, AFailedTestIsAWitness) {
  t.find(FindingKind::gpu_lost, kN0, 3, Witness::kernel_log);
  decide();
  then(Status::done);
  then(Status::done);
  EXPECT_EQ(later(seconds(5)), V{Verb::test_node});
  EXPECT_EQ(then(Status::failed, "GPU 3 does not answer"), V{Verb::reboot_node}) << "the first rung: nothing was repaired yet";
}

TEST_F(Recovery, ASuspicionIsTestedFirst) {
  t.find(FindingKind::slow_gpu, kN0, 3, Witness::job, Severity::warning);
  decide();
  EXPECT_EQ(then(Status::done), V{Verb::test_node});
  EXPECT_EQ(then(Status::failed, "GPU 3: matrix multiply too slow"), V{Verb::reset_gpu});
}

TEST_F(Recovery, AFaultThatIsNoLongerSeenIsTestedInsteadOfRepaired) {
  const FindingId f = t.find(FindingKind::gpu_lost, kN0, 3);
  decide();
  t.tell(FindingCleared{f, "visible again"});
  EXPECT_EQ(then(Status::done), V{Verb::test_node});
}

// ---------------------------------------------------------------- the job on the node

TEST_F(Recovery, ALiveJobIsNeitherStoppedNorItsNodeRepairedUnderItWhereThePolicyWaits) {
  const JobId j = t.running({kN0, kN1});
  t.find(FindingKind::nvlink_degraded, kN0, 3, Witness::scrape, Severity::warning);
  EXPECT_EQ(decide(), V{Verb::drain_node});
  EXPECT_EQ(then(Status::done), V{});
  EXPECT_EQ(later(hours(5)), V{});
  t.tell(JobEnded{j, 1, JobEnd::completed, {}, {}});
  EXPECT_EQ(decide(), V{Verb::test_node}) << "five hours later it is tested before it is repaired";
}

TEST_F(Recovery, AHangingJobIsRequeuedAfterTheTimeOfThePolicyOnTheWordOfASecondWitness) {
  const JobId j = t.running({kN0, kN1});
  t.find(FindingKind::gpu_lost, kN0, 3);
  EXPECT_EQ(decide(), V{Verb::drain_node});
  EXPECT_EQ(then(Status::done), V{});
  EXPECT_EQ(later(seconds(10)), V{}) << "it may notice by itself";
  EXPECT_EQ(later(seconds(11)), V{Verb::requeue_job});
  EXPECT_EQ(last.action.job, j);
  EXPECT_EQ(last.action.attempt, 1U);
  t.tell(JobEnded{j, 1, JobEnd::requeued, {}, {}});
  t.tell(JobRequeued{j});
  then(Status::done);
  EXPECT_EQ(incident().stage == Stage::repairing || later(minutes(1)) == V{Verb::reboot_node}, true);
}

TEST_F(Recovery, ALogLineAloneStopsNoJobButHasTheNodeAsked) {
  t.running({kN0});
  const FindingId f = t.find(FindingKind::gpu_lost, kN0, 3, Witness::kernel_log);
  EXPECT_EQ(decide(), V{Verb::drain_node});
  EXPECT_EQ(then(Status::done), V{Verb::probe_node});
  EXPECT_EQ(then(Status::done), V{});
  EXPECT_EQ(later(minutes(1)), V{});
  EXPECT_EQ(later(hours(10)), V{}) << "asked once, and nobody else confirms it";
  t.tell(FindingGrew{f, Severity::critical, {Witness::scrape, t.now().utc, {}, "missing"}});
  EXPECT_EQ(decide(), V{Verb::requeue_job}) << "now there is a second witness";
}

TEST_F(Recovery, AJobOnASilentNodeIsStoppedWhenTheNodeDoesNotAnswerAProbe) {
  const JobId j = t.running({kN0, kN1});
  t.find(FindingKind::node_silent, kN0, -1, Witness::silence);
  EXPECT_EQ(decide(), V{Verb::drain_node});
  EXPECT_EQ(then(Status::done), V{Verb::probe_node}) << "silence alone may be the exporter's";
  EXPECT_EQ(then(Status::failed, "no answer"), V{Verb::requeue_job}) << "at once: it has hung for as long as the node is silent";
  EXPECT_EQ(last.action.job, j);
}

TEST_F(Recovery, AJobOnASilentNodeThatAnswersAProbeIsLeftAloneForAWhile) {
  t.running({kN0, kN1});
  t.find(FindingKind::node_silent, kN0, -1, Witness::silence);
  decide();
  EXPECT_EQ(then(Status::done), V{Verb::probe_node});
  EXPECT_EQ(then(Status::done), V{});
  EXPECT_EQ(later(seconds(60)), V{});
  EXPECT_EQ(later(seconds(40)), V{});
  EXPECT_EQ(later(seconds(30)), V{Verb::requeue_job}) << "it answered, and still says nothing";
}

TEST_F(Recovery, AProbeOfASilentNodeThatWasNeverReceivedStopsNoJob) {
  t.running({kN0, kN1});
  t.find(FindingKind::node_silent, kN0, -1, Witness::silence);
  decide();
  EXPECT_EQ(then(Status::done), V{Verb::probe_node});
  EXPECT_EQ(then(Status::not_received), V{});
  EXPECT_EQ(later(seconds(60)), V{});
}

TEST_F(Recovery, ADrainThatALimitHoldsBackDoesNotKeepAHangingJobWaiting) {
  const JobId j = t.running({kN0, kN1});
  t.find(FindingKind::gpu_lost, kN0, 3);
  refused = {Verb::drain_node};
  EXPECT_EQ(decide(), V{});
  EXPECT_EQ(incident().stage, Stage::opened);
  EXPECT_EQ(later(minutes(31)), V{Verb::requeue_job});
  EXPECT_EQ(last.action.job, j);
}

TEST_F(Recovery, ADrainThatWasHeldBackIsAskedForAgainWhenANodeReturns) {
  t.find(FindingKind::gpu_lost, kN0, 3);
  refused = {Verb::drain_node};
  EXPECT_EQ(decide(), V{});
  EXPECT_EQ(later(minutes(5)), V{}) << "not asked again before its time";
  refused.clear();
  t.drained(kN1, t.open(t.find(FindingKind::gsp_timeout, kN1, 1)));
  settle(t.s);
  t.ends(t.order(Verb::undrain_node, kN1));
  const V wants = decide();
  EXPECT_NE(std::find(wants.begin(), wants.end(), Verb::drain_node), wants.end());
}

TEST_F(Recovery, ASilentNodeIsGivenTimeToComeBackBeforeItsPowerIsCut) {
  t.find(FindingKind::node_silent, kN0, -1, Witness::silence);
  t.tell(NodeChanged{kN0, NodeCondition::down, {}});
  EXPECT_EQ(decide(), V{Verb::drain_node});
  EXPECT_EQ(then(Status::done), V{});
  EXPECT_EQ(later(minutes(9)), V{});
  EXPECT_EQ(later(minutes(1)), V{Verb::power_cycle_node});
}

TEST_F(Recovery, SettingTheWallClockNeitherHastensNorDelaysThePowerCut) {
  for (const Duration jump : {days(1), days(-1)}) {
    Story fresh(8);
    t = fresh;
    settle(t.s);
    t.find(FindingKind::node_silent, kN0, -1, Witness::silence);
    t.tell(NodeChanged{kN0, NodeCondition::down, {}});
    decide();
    then(Status::done);
    t.set_clock(jump);
    EXPECT_EQ(later(minutes(9)), V{});
    EXPECT_EQ(later(minutes(1) + seconds(1)), V{Verb::power_cycle_node});
  }
}

TEST_F(Recovery, ASilentNodeThatComesBackIsTestedNotCut) {
  const FindingId f = t.find(FindingKind::node_silent, kN0, -1, Witness::silence);
  decide();
  then(Status::done);
  t.pass(minutes(5));
  t.tell(FindingCleared{f, "reports again"});
  EXPECT_EQ(decide(), V{Verb::test_node});
}

// ---------------------------------------------------------------- people

TEST_F(Recovery, ANodeThatAPersonHoldsIsLeftAlone) {
  t.drained(kN0, {}, "wish");
  settle(t.s);
  t.find(FindingKind::gpu_lost, kN0, 3);
  EXPECT_EQ(decide(), V{});
  EXPECT_EQ(incident().stage, Stage::held);
  EXPECT_EQ(later(days(7)), V{});
  EXPECT_EQ(t.s.nodes[0].hold, Hold::person);
}

TEST_F(Recovery, WhatTheEngineDrainedIsTakenOverTestedAndReturned) {
  t.tell(NodeHeld{kN0, true, "slurm", "Epilog error", true});
  t.find(FindingKind::engine_drained, kN0, -1, Witness::engine);
  EXPECT_EQ(decide(), V{Verb::drain_node}) << "so that its reason names the incident, and budgets count it";
  EXPECT_EQ(then(Status::done), V{Verb::test_node});
  EXPECT_EQ(then(Status::done), V{Verb::undrain_node});
  then(Status::done);
  EXPECT_EQ(incident().stage, Stage::closed);
  EXPECT_TRUE(placeable(t.s, kN0));
}

TEST_F(Recovery, WhatCannotBeTestedYetIsNotRepairedOnASuspicion) {
  t.tell(NodeHeld{kN0, true, "slurm", "Duplicate jobid", true});
  t.find(FindingKind::engine_drained, kN0, -1, Witness::engine);
  decide();
  t.tell(NodeChanged{kN0, NodeCondition::down, "slurmd does not answer"});
  EXPECT_EQ(then(Status::done), V{});
  EXPECT_EQ(later(minutes(5)), V{});
  t.tell(NodeChanged{kN0, NodeCondition::up, "back"});
  EXPECT_EQ(decide(), V{Verb::test_node});
}

TEST_F(Recovery, ANodeThatStaysDownIsRepairedAllTheSame) {
  t.tell(NodeHeld{kN0, true, "slurm", "gres/gpu count reported lower than configured (7 < 8)", true});
  t.find(FindingKind::engine_drained, kN0, -1, Witness::engine);
  decide();
  t.tell(NodeChanged{kN0, NodeCondition::down, "invalid registration"});
  EXPECT_EQ(then(Status::done), V{});
  EXPECT_EQ(later(minutes(11)), V{Verb::reboot_node});
}

TEST_F(Recovery, ProcessesThatTheEngineCouldNotEndAreEndedByAReboot) {
  t.tell(NodeHeld{kN0, true, "slurm", "Kill task failed", true, true});
  Finding f;
  f.id = FindingId{t.s.next_finding};
  f.kind = FindingKind::engine_drained;
  f.code = kLeftovers;
  f.node = kN0;
  f.evidence = {{Witness::engine, t.now().utc, {}, "Kill task failed"}};
  t.tell(FindingOpened{f});
  EXPECT_EQ(decide(), V{Verb::drain_node});
  EXPECT_EQ(then(Status::done), V{Verb::reboot_node});
  EXPECT_EQ(then(Status::done), V{Verb::test_node});
}

// A GPU of node 0 failed its acceptance tests.
Finding failed_test(const Story& t, AcceptFault fault, std::int16_t slot = 3, Severity severity = Severity::warning) {
  Finding f;
  f.id = FindingId{t.s.next_finding};
  f.kind = FindingKind::acceptance_failed;
  f.severity = severity;
  f.code = static_cast<std::int32_t>(fault);
  f.node = kN0;
  f.slot = slot;
  f.opened = t.now().utc;
  f.subject = "part";
  f.evidence = {{Witness::test, t.now().utc, {}, "accept quick, part: seen"}};
  return f;
}

TEST_F(Recovery, AGpuThatComputesWronglyIsResetTestedAndAtLastReplaced) {
  t.tell(FindingOpened{failed_test(t, AcceptFault::wrong_results, 3, Severity::critical)});
  EXPECT_EQ(decide(), V{Verb::drain_node});
  EXPECT_EQ(then(Status::done), V{Verb::reset_gpu}) << "the test has spoken: it is not asked again before anything is done";
  EXPECT_EQ(last.action.slot, 3);
  EXPECT_EQ(then(Status::done), V{Verb::test_node});
  EXPECT_EQ(then(Status::failed, "GPU 3: SM 17 computes wrongly"), V{Verb::probe_node});
  EXPECT_EQ(replace_after_probe(), V{Verb::replace_node});
  EXPECT_NE(last.action.dossier.find("acceptance_failed: part"), std::string::npos) << last.action.dossier;
  EXPECT_EQ(then(Status::done), V{Verb::test_node});
  EXPECT_EQ(then(Status::done), V{Verb::undrain_node});
}

TEST_F(Recovery, AJobOnAGpuThatComputesWronglyGoesOnElsewhere) {
  t.running({kN0, kN1});
  t.tell(FindingOpened{failed_test(t, AcceptFault::wrong_results, 3, Severity::critical)});
  EXPECT_EQ(decide(), V{Verb::drain_node});
  EXPECT_EQ(then(Status::done), V{});
  EXPECT_EQ(later(minutes(1)), V{Verb::requeue_job});
}

TEST_F(Recovery, ASlowGpuIsHeldAtItsJobsEndAndTestedBeforeAnythingIsRepaired) {
  for (const AcceptFault fault : {AcceptFault::slow, AcceptFault::power}) {
    const JobId j = t.running({kN0});
    t.tell(FindingOpened{failed_test(t, fault)});
    EXPECT_EQ(decide(), V{Verb::drain_node});
    EXPECT_EQ(then(Status::done), V{});
    EXPECT_EQ(later(hours(5)), V{}) << "its job ends by itself";
    t.tell(JobEnded{j, 1, JobEnd::completed, {}, {}});
    EXPECT_EQ(decide(), V{Verb::test_node});
    EXPECT_EQ(then(Status::done), V{Verb::undrain_node}) << "it was what ran beside it";
    then(Status::done);
    EXPECT_EQ(incident().stage, Stage::closed);
  }
}

TEST_F(Recovery, WhatCouldNotBeTestedIsForAPerson) {
  t.tell(FindingOpened{failed_test(t, AcceptFault::not_run)});
  EXPECT_EQ(decide(), V{});
  EXPECT_TRUE(t.s.incidents.empty());
  EXPECT_TRUE(placeable(t.s, kN0));
}

TEST_F(Recovery, ANodeThatIsWaitedForIsNotWhenAGpuOfItComputesWrongly) {
  t.running({kN0, kN1});
  t.tell(FindingOpened{failed_test(t, AcceptFault::slow, 2)});
  EXPECT_EQ(decide(), V{Verb::drain_node});
  EXPECT_EQ(then(Status::done), V{});
  t.tell(FindingOpened{failed_test(t, AcceptFault::wrong_results, 3, Severity::critical)});
  decide();
  EXPECT_EQ(incident().code, static_cast<std::int32_t>(AcceptFault::wrong_results));
  EXPECT_EQ(incident().slot, 3);
  EXPECT_EQ(later(minutes(1)), V{Verb::requeue_job});
}

TEST_F(Recovery, APersonWhoTakesANodeOverIsNotFought) {
  t.find(FindingKind::gpu_lost, kN0, 3);
  decide();
  t.pass(seconds(1));
  t.ends(key);
  t.drained(kN0, {}, "wish");
  EXPECT_EQ(decide(), V{});
  EXPECT_EQ(later(days(1)), V{});
  EXPECT_EQ(incident().stage, Stage::held);
  t.ends(t.order(Verb::undrain_node, kN0, {}, "wish2"));
  EXPECT_EQ(decide(), V{});
  EXPECT_EQ(incident().stage, Stage::closed) << "put back into service by a person";
}

TEST_F(Recovery, APersonWhoTakesANodeOverDuringARepairKeepsIt) {
  t.find(FindingKind::gpu_lost, kN0, 3);
  decide();
  EXPECT_EQ(then(Status::done), V{Verb::reboot_node});
  const std::string repair = key;
  t.drained(kN0, {}, "wish");
  EXPECT_EQ(decide(), V{});
  key = repair;
  std::vector<Verb> seen = then(Status::done);
  for (int i = 0; i < 5; ++i) {
    const V more = then(Status::done);
    seen.insert(seen.end(), more.begin(), more.end());
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), Verb::undrain_node), 0);
  EXPECT_EQ(t.s.nodes[0].hold, Hold::person);
}

TEST_F(Recovery, NothingIsWantedWhilePausedAndEverythingIsLookedAtAfterwards) {
  t.command(CommandVerb::pause, "p");
  t.find(FindingKind::gpu_lost, kN0, 3);
  EXPECT_EQ(decide(), V{});
  EXPECT_EQ(later(hours(2)), V{});
  t.command(CommandVerb::resume, "r");
  EXPECT_EQ(decide(), V{Verb::drain_node});
}

TEST_F(Recovery, APauseInTheMiddleOfALadderHoldsItThere) {
  t.find(FindingKind::gpu_lost, kN0, 3);
  decide();
  t.command(CommandVerb::pause, "p");
  EXPECT_EQ(then(Status::done), V{});
  EXPECT_EQ(later(minutes(20)), V{});
  t.command(CommandVerb::resume, "r");
  EXPECT_EQ(decide(), V{Verb::reboot_node});
}

// ---------------------------------------------------------------- what starts nothing

TEST_F(Recovery, StaleEvidenceStartsNothing) {
  t.find(FindingKind::gpu_lost, kN0, 3);
  EXPECT_EQ(later(minutes(31)), V{});
  EXPECT_TRUE(t.s.incidents.empty());
}

TEST_F(Recovery, APassingOrPrivateTroubleTouchesNoNode) {
  for (const FindingKind k : {FindingKind::link_flap, FindingKind::app_error, FindingKind::job_failed}) {
    t.find(k, kN0, 3, Witness::kernel_log, Severity::info);
  }
  EXPECT_EQ(decide(), V{});
  EXPECT_TRUE(t.s.incidents.empty());
  EXPECT_TRUE(placeable(t.s, kN0));
}

TEST_F(Recovery, AStalledStoreIsWatchedAndTouchesNoNode) {
  const FindingId f = t.find(FindingKind::storage_stall, {}, -1, Witness::job);
  EXPECT_EQ(decide(), V{});
  EXPECT_EQ(incident().stage, Stage::watching);
  for (std::uint32_t n = 0; n < 8; ++n) EXPECT_TRUE(placeable(t.s, NodeId{n}));
  t.tell(FindingCleared{f, "usual again"});
  EXPECT_EQ(decide(), V{});
  EXPECT_EQ(incident().stage, Stage::closed);
}

TEST_F(Recovery, SeveralFindingsOnANodeAreOneIncident) {
  t.find(FindingKind::gpu_lost, kN0, 3);
  t.find(FindingKind::ecc_uncorrectable, kN0, 4);
  EXPECT_EQ(decide(), V{Verb::drain_node});
  t.find(FindingKind::pcie_degraded, kN0, 5);
  EXPECT_EQ(decide(), V{});
  EXPECT_EQ(t.s.incidents.size(), 1U);
  EXPECT_EQ(incident().findings.size(), 3U);
}

TEST_F(Recovery, WhatComesUpWhileANodeIsPutBackIsNotTakenForWhatWasMended) {
  t.find(FindingKind::gpu_lost, kN0, 3);
  EXPECT_EQ(decide(), V{Verb::drain_node});
  EXPECT_EQ(then(Status::done), V{Verb::reboot_node});
  EXPECT_EQ(then(Status::done), V{Verb::test_node});
  EXPECT_EQ(then(Status::done, "passed"), V{Verb::undrain_node});
  const FindingId fresh = t.find(FindingKind::gpu_lost, kN0, 5);
  EXPECT_EQ(decide(), V{});
  EXPECT_EQ(then(Status::done), V{Verb::drain_node}) << "or a node without its GPU is in service and nobody knows";
  EXPECT_EQ(find_finding(t.s, fresh)->cleared.ns, 0);
  EXPECT_EQ(then(Status::done), V{Verb::reboot_node});
}

TEST_F(Recovery, AGraveFindingDuringATestIsMoreThanThatItPassed) {
  t.find(FindingKind::gpu_lost, kN0, 3);
  EXPECT_EQ(decide(), V{Verb::drain_node});
  EXPECT_EQ(then(Status::done), V{Verb::reboot_node});
  EXPECT_EQ(then(Status::done), V{Verb::test_node});
  t.pass(seconds(1));
  t.find(FindingKind::gpu_lost, kN0, 5);
  EXPECT_EQ(decide(), V{});
  const V next = then(Status::done, "passed");
  EXPECT_EQ(std::count(next.begin(), next.end(), Verb::undrain_node), 0);
  EXPECT_EQ(next.size(), 1U) << "goes on up the ladder";
}

TEST_F(Recovery, APolicyThatDoesNotActOnAKindOnlyWatches) {
  Policy p = default_policy();
  for (Runbook& l : p.runbooks) l.act = false;
  t.tell(PolicyApplied{p, "other"});
  settle(t.s);
  t.find(FindingKind::gpu_lost, kN0, 3);
  EXPECT_EQ(decide(), V{});
  EXPECT_TRUE(t.s.incidents.empty());
}

TEST_F(Recovery, EveryLadderEndsWhateverTheAnswersAre) {
  for (const Runbook& ladder : default_policy().runbooks) {
    if (!ladder.act) continue;
    for (const Status always : {Status::done, Status::failed, Status::refused, Status::not_received}) {
      Story fresh(8);
      t = fresh;
      settle(t.s);
      t.find(ladder.kind, kN0, 3);
      V all = decide();
      int idle = 0;
      for (int i = 0; i < 4000 && idle < 60; ++i) {
        V more = t.s.open_orders.empty() ? later(minutes(1)) : then(always);
        idle = more.empty() ? idle + 1 : 0;
        all.insert(all.end(), more.begin(), more.end());
      }
      EXPECT_FALSE(all.empty());
      if (always == Status::done) {
        EXPECT_EQ(incident().stage, Stage::closed) << name_of(ladder.kind);
      }
      EXPECT_LT(all.size(), 100U) << name_of(ladder.kind) << " with " << name_of(always) << ": tried for ever";
    }
  }
}

TEST_F(Recovery, AStopThatALimitHeldBackIsAskedForAgainWhenItsTimeComes) {
  t.running({kN0, kN1});
  t.find(FindingKind::node_silent, kN0, -1, Witness::silence);
  decide();
  EXPECT_EQ(then(Status::done), V{Verb::probe_node}) << "silence may be the exporter's alone";
  refused = {Verb::requeue_job};
  EXPECT_EQ(then(Status::failed, "no answer"), V{});
  EXPECT_EQ(t.s.totals.refusals, 1u);
  refused.clear();
  EXPECT_EQ(later(minutes(31)), V{Verb::requeue_job});
}

// ---- repeats

TEST_F(Recovery, ANodeThatHadItTwiceInAWeekBeginsOneStepFurtherAndSaysWhy) {
  for (int k = 0; k < 2; ++k) {
    t.find(FindingKind::gpu_lost, kN0, 3);
    decide();
    EXPECT_EQ(then(Status::done), V{Verb::reboot_node}) << k;
    then(Status::done);
    then(Status::done);
    then(Status::done);
    ASSERT_EQ(incident().stage, Stage::closed);
    t.pass(days(1));
  }
  EXPECT_EQ(repeats(t.s, kN0, FindingKind::gpu_lost, days(7)), 2u);
  t.find(FindingKind::gpu_lost, kN0, 3);
  decide();
  EXPECT_EQ(then(Status::done), V{Verb::power_cycle_node});
  EXPECT_EQ(last.reason.alternatives[0], "reboot_node: milder, but it had the same 2 times in 7 days");
  then(Status::done);
  EXPECT_EQ(then(Status::failed), V{Verb::probe_node}) << "and goes on from there";
  EXPECT_EQ(replace_after_probe(), V{Verb::replace_node});
  const std::string& d = last.action.dossier;
  EXPECT_NE(d.find("Counters and readings\n  when found, "), std::string::npos) << d;
  EXPECT_NE(d.find(": seen\n"), std::string::npos) << d;
  EXPECT_NE(d.find("  now, "), std::string::npos) << d;
  EXPECT_NE(d.find(": slot 3: 7 uncorrectable ECC errors\n"), std::string::npos) << "as the last probe told: " << d;
  EXPECT_NE(last.action.dossier.find("gpu_lost"), std::string::npos);
  EXPECT_NE(last.action.dossier.find("Before, within 28 days: 2 incidents"), std::string::npos) << last.action.dossier;
}

TEST_F(Recovery, AWeekLaterItBeginsAtTheFirstStepAgainAndAReplacedNodeToo) {
  for (int k = 0; k < 2; ++k) {
    t.find(FindingKind::gpu_lost, kN0, 3);
    decide();
    for (int n = 0; n < 4; ++n) then(Status::done);
  }
  t.tell(GpuSwapped{kN1, -1, {}});
  EXPECT_EQ(repeats(t.s, kN0, FindingKind::gpu_lost, days(7)), 2u) << "another node was replaced";
  t.pass(days(8));
  t.find(FindingKind::gpu_lost, kN0, 3);
  decide();
  EXPECT_EQ(then(Status::done), V{Verb::reboot_node});
  t.tell(GpuSwapped{kN0, -1, {}});
  EXPECT_TRUE(t.s.nodes[0].past.empty());
}

TEST_F(Recovery, ALemonGoesToTheLastStepAtOnceButNotInAFleetOfThem) {
  for (const FindingKind k :
       {FindingKind::gpu_lost, FindingKind::ecc_uncorrectable, FindingKind::nvlink_degraded, FindingKind::pcie_degraded}) {
    t.find(k, kN0, 3);
    decide();
    for (int n = 0; n < 4; ++n) then(Status::done);
    ASSERT_EQ(incident().stage, Stage::closed);
  }
  EXPECT_NEAR(lemon_score(t.s, kN0), 6, 1e-9) << "four incidents, each with one repair, no job";
  t.find(FindingKind::gpu_lost, kN0, 3);
  decide();
  EXPECT_EQ(then(Status::done), V{Verb::probe_node});
  EXPECT_EQ(replace_after_probe(), V{Verb::replace_node});
  EXPECT_NE(last.reason.alternatives[0].find("lemon"), std::string::npos) << last.reason.alternatives[0];
}

// ---- jobs that could go on

class SlowJob : public Recovery {
 protected:
  SlowJob() {
    job = t.running({kN0, kN1});
    t.s.jobs.at(job).spec.steps = 100'000;
    t.s.jobs.at(job).spec.step_s = 10;
    t.s.jobs.at(job).spec.checkpoint_every_s = 1800;
    t.pass(minutes(20));
  }
  void slow(std::uint32_t pct) {
    const FindingId id = t.find(FindingKind::nvlink_degraded, kN0, 3);
    t.s.findings.at(id).loss_pct = pct;
  }
  JobId job;
};

TEST_F(SlowJob, IsMovedWhenItHasWrittenItsCheckpointAndTheRecordHasWhatElseWouldHaveCost) {
  slow(30);
  EXPECT_EQ(decide(), V{Verb::drain_node});
  EXPECT_EQ(then(Status::done), V{}) << "its checkpoint is due in ten minutes";
  t.pass(minutes(10));
  t.tell(JobProgressed{job, 1, {180, 180, 0, 0, 0}});
  EXPECT_EQ(decide(), V{Verb::requeue_job});
  ASSERT_EQ(last.reason.options.size(), 3u);
  EXPECT_EQ(last.reason.options[0].what, "stop it now");
  EXPECT_LT(last.reason.options[0].cost_gpu_h, last.reason.options[1].cost_gpu_h);
  EXPECT_EQ(last.reason.book, "nvlink_degraded/1");
}

TEST_F(Recovery, AGangThatHangsWithoutASpareGoesOnSmallerWhereItMay) {
  t.s.policy.scheduling.repair = true;
  const JobId job = t.running({kN0, kN1, NodeId{2}, NodeId{3}});
  t.running({NodeId{4}, NodeId{5}, NodeId{6}, NodeId{7}});
  t.s.jobs.at(job).spec.nodes_min = 3;
  t.s.jobs.at(job).spec.steps = 100'000;
  t.pass(minutes(10));
  t.find(FindingKind::gpu_lost, kN0, 3);
  EXPECT_EQ(decide(), V{Verb::drain_node});
  then(Status::done);
  EXPECT_EQ(later(minutes(1)), V{Verb::restart_job});
  EXPECT_EQ(last.action.nodes, (std::vector<NodeId>{kN1, NodeId{2}, NodeId{3}}));
  EXPECT_EQ(last.reason.rule, "recover/gpu_lost/smaller");
  EXPECT_EQ(last.reason.options[0].what, "restart it smaller now");
  // Beside the checkpoint of eleven minutes: 180 s to start, twice, and a quarter of it missing while the node reboots.
  const double age = 601 + 60;
  EXPECT_NEAR(last.reason.options[0].cost_gpu_h, 32 * (age + 180 + 0.25 * 780 + 180) / 3600, 0.05);
}

TEST_F(SlowJob, IsLeftAloneWhenItsOwnerForbidsRequeue) {
  t.s.jobs.at(job).spec.no_requeue = true;
  slow(30);
  decide();
  EXPECT_EQ(then(Status::done), V{});
  t.pass(minutes(10));
  t.tell(JobProgressed{job, 1, {180, 180, 0, 0, 0}});
  EXPECT_EQ(decide(), V{});
}

TEST_F(SlowJob, IsLeftAloneWhenItIsNotSlowAtAll) {
  t.s.jobs.at(job).spec.steps = 200;  // nearly done
  slow(0);
  decide();
  then(Status::done);
  EXPECT_EQ(later(minutes(30)), V{});
}

TEST_F(Recovery, InShadowEachThingThatWouldBeDoneIsWantedOnce) {
  t.s.policy.shadow = true;
  refused = {Verb::drain_node};
  const FindingId f = t.find(FindingKind::gpu_lost, kN0, 3);
  decide();
  EXPECT_EQ(t.s.totals.refusals, 1u);
  t.tell(FindingGrew{f, Severity::critical, {Witness::scrape, t.now().utc, {}, "again"}, {}});
  decide();
  later(hours(3));
  EXPECT_EQ(t.s.totals.refusals, 1u) << "said once";
}

}  // namespace
}  // namespace muster::decide
