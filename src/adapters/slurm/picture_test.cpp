#include "adapters/slurm/picture.h"

#include <gtest/gtest.h>

#include "adapters/slurm/site.h"
#include "model/story.h"

namespace muster::slurm {
namespace {

template <class T>
std::vector<T> only(const std::vector<Body>& all) {
  std::vector<T> out;
  for (const Body& b : all) {
    if (const auto* x = std::get_if<T>(&b)) out.push_back(*x);
  }
  return out;
}

class Pictured : public ::testing::Test {
 protected:
  Pictured() : site(small_site(8)), p(site, {{"batch", Mode::place}, {"debug", Mode::off}}, Mode::advise, reasons) {}
  static JobRow row(std::uint32_t id, const std::string& state, const std::string& nodes = {}) {
    JobRow r;
    r.id = JobId{id, 0};
    r.state = state;
    r.nodes = 2;
    r.gpus_per_node = 8;
    r.node_list = nodes;
    r.priority = 100;
    r.partition = "batch";
    r.user = "ada";
    r.requeue = true;
    r.submitted = Time{1000};
    if (!nodes.empty()) r.started = Time{2000};
    return r;
  }
  static JobRow gate(std::uint32_t id) {
    JobRow r = row(id, "PENDING");
    r.reason = "BeginTime";
    r.admin_comment = "muster: gate";
    return r;
  }
  // What Slurm shows now, and what the state makes of it.
  std::vector<Body> look(const std::vector<JobRow>& rows) {
    now = now + seconds(1);
    p.look_begins();
    std::vector<Body> out = p.see_jobs(rows, now);
    for (const Body& b : out) t.tell(b);
    return out;
  }
  std::vector<Body> look_nodes(const std::vector<NodeRow>& rows, const std::vector<ReservationRow>& res = {}) {
    now = now + seconds(1);
    p.look_begins();
    return p.see_nodes(rows, res, now);
  }
  std::vector<NodeRow> all_nodes() const {
    std::vector<NodeRow> out;
    for (const NodeSpec& n : site.nodes) {
      NodeRow r;
      r.name = n.name;
      r.state = {"IDLE"};
      out.push_back(r);
    }
    return out;
  }
  JobPhase phase(std::uint32_t id) const { return t.s.jobs.at(JobId{id, 0}).phase; }
  const std::string& barred(std::uint32_t id) const { return t.s.jobs.at(JobId{id, 0}).spec.barred; }

  Site site;
  Reasons reasons;
  Picture p;
  Story t{8};
  Time now{500};
};

TEST_F(Pictured, WhatIsLeftOfARequeuedAttemptIsNotTheNextOne) {
  look({row(1, "RUNNING", "n[0-1]")});
  JobRow left = row(1, "COMPLETING", "n0");  // the other node is done
  left.restarts = 1;
  EXPECT_TRUE(look({left}).empty()) << "the attempt before is still on its nodes";
  JobRow next = row(1, "RUNNING", "n[2-3]");
  next.restarts = 1;
  look({next});
  EXPECT_EQ(t.s.jobs.at(JobId{1, 0}).nodes, (std::vector<NodeId>{NodeId{2}, NodeId{3}}));
  EXPECT_EQ(t.s.jobs.at(JobId{1, 0}).attempt, 2u);
  JobRow back = row(1, "PENDING");
  back.restarts = 2;
  look({back});
  EXPECT_EQ(phase(1), JobPhase::queued);
  left.restarts = 2;
  left.node_list = "n2";
  EXPECT_TRUE(look({left}).empty()) << "nor after it was seen in the queue";
}

TEST_F(Pictured, AJobIsFollowedFromItsSubmissionToItsEnd) {
  look({row(1, "PENDING")});
  EXPECT_EQ(phase(1), JobPhase::queued);
  EXPECT_TRUE(look({row(1, "PENDING")}).empty()) << "nothing has changed";
  look({row(1, "RUNNING", "n[0-1]")});
  EXPECT_EQ(phase(1), JobPhase::running);
  EXPECT_EQ(t.s.jobs.at(JobId{1, 0}).nodes, (std::vector<NodeId>{NodeId{0}, NodeId{1}}));
  look({row(1, "COMPLETING", "n[0-1]")});
  EXPECT_EQ(phase(1), JobPhase::running) << "what is left of it is on its nodes";
  look({row(1, "COMPLETED", "n[0-1]")});
  EXPECT_EQ(phase(1), JobPhase::completed);
  EXPECT_TRUE(look({row(1, "COMPLETED", "n[0-1]")}).empty());
}

TEST_F(Pictured, WhatEndedWhileNobodyLookedEndsAsItDid) {
  look({row(1, "RUNNING", "n[0-1]"), row(2, "PENDING"), row(3, "RUNNING", "n[6-7]")});
  Picture again(site, {{"batch", Mode::place}}, Mode::advise, reasons);
  again.know(t.s);
  const Time since = now;
  now = now + minutes(60);
  const auto past = [&](std::uint32_t id, const std::string& state, const std::string& nodes, std::int64_t minute) {
    JobRow r = row(id, state, nodes);
    r.started = nodes.empty() ? Time{} : since + minutes(minute - 5);
    r.ended = since + minutes(minute);
    return r;
  };
  const auto told = again.see_history({past(5, "COMPLETED", "n[0-1]", 40),  // after 1, on its nodes
                                       past(1, "FAILED", "n[0-1]", 10), past(2, "CANCELLED", "", 20),
                                       past(6, "CANCELLED", "", 30),          // came and went, and never ran
                                       past(7, "COMPLETED", "n[6-7]", 30),    // where 3 was, which still runs, elsewhere
                                       past(8, "COMPLETED", "n[4-5]", -10)},  // known before
                                      since, now);
  for (const Body& b : told) t.tell(b);
  EXPECT_EQ(phase(1), JobPhase::failed);
  EXPECT_EQ(phase(2), JobPhase::cancelled);
  EXPECT_EQ(phase(3), JobPhase::running) << "nobody is taken for ended by another's history";
  EXPECT_EQ(phase(5), JobPhase::completed);
  EXPECT_EQ(t.s.jobs.count(JobId{6, 0}), 0U);
  EXPECT_NE(phase(7), JobPhase::running);
  EXPECT_EQ(t.s.jobs.count(JobId{8, 0}), 0U);
  const auto ends = only<JobEnded>(told);
  EXPECT_NE(ends.front().detail.find("by sacct"), std::string::npos) << ends.front().detail;
  EXPECT_EQ(ends.front().at, since + minutes(10));
  // Slurm's list still has some of them: nothing is told twice.
  const auto after = again.see_jobs({past(5, "COMPLETED", "n[0-1]", 40), row(3, "RUNNING", "n[6-7]")}, now);
  EXPECT_TRUE(after.empty()) << after.size();
}

TEST_F(Pictured, WhatRanBeforeTheFirstLookBeganWhenSlurmSays) {
  now = Time{} + hours(9);
  JobRow r = row(1, "RUNNING", "n[0-1]");
  r.started = Time{} + hours(6);
  const auto began = only<JobStarted>(look({r}));
  ASSERT_EQ(began.size(), 1U);
  EXPECT_EQ(began.front().at, r.started);
  r = row(2, "RUNNING", "n[2-3]");
  r.started = now;
  EXPECT_EQ(only<JobStarted>(look({row(1, "RUNNING", "n[0-1]"), r})).front().at, Time{}) << "as it happens";
}

TEST_F(Pictured, OneThatRanBetweenTwoLooksIsNotLost) {
  look({});
  JobRow r = row(1, "COMPLETED", "n[0-1]");
  r.submitted = now + seconds(1);
  look({r});
  EXPECT_EQ(phase(1), JobPhase::completed);
  look({row(2, "COMPLETED", "n[0-1]")});
  EXPECT_EQ(t.s.jobs.count(JobId{2, 0}), 0U) << "over before anybody looked";
}

TEST_F(Pictured, WhatHasEndedStaysOnSlurmsListAndIsToldOnce) {
  look({});
  JobRow first = row(1, "PENDING");
  first.submitted = now + seconds(1);
  look({first});
  JobRow ran = first;
  ran.state = "RUNNING";
  ran.node_list = "n[0-1]";
  ran.started = now;
  look({ran});
  JobRow over = ran;
  over.state = "COMPLETED";
  EXPECT_EQ(only<JobEnded>(look({over})).size(), 1U);
  JobRow next = ran;
  next.id = JobId{2, 0};
  look({over, next});
  EXPECT_EQ(phase(2), JobPhase::running);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(look({over, next}).empty()) << "the one that has gone takes no nodes from the next";
  EXPECT_EQ(phase(2), JobPhase::running);
  // One that a person put back has its number still, and a new life.
  EXPECT_EQ(only<JobSubmitted>(look({first, next})).size(), 1U);
  EXPECT_EQ(phase(1), JobPhase::queued);
  EXPECT_EQ(t.s.jobs.at(JobId{1, 0}).attempt, 1U);
}

TEST_F(Pictured, WhatSlurmIsDoneWithIsNotTriedAgain) {
  look({row(1, "RUNNING", "n[0-1]"), row(2, "RUNNING", "n[2-3]")});
  look({row(1, "FAILED", "n[0-1]"), row(2, "NODE_FAIL", "n[2-3]")});
  EXPECT_EQ(phase(1), JobPhase::failed);
  EXPECT_EQ(phase(2), JobPhase::failed);
  EXPECT_TRUE(t.s.broken_jobs.empty() || ended(phase(1)));
}

TEST_F(Pictured, ARequeueBySlurmIsAnEndAndANewBeginning) {
  look({row(1, "RUNNING", "n[0-1]")});
  JobRow r = gate(1);
  r.restarts = 1;
  look({r});
  EXPECT_EQ(phase(1), JobPhase::queued);
  JobRow again = row(1, "RUNNING", "n[4-5]");
  again.restarts = 1;
  look({again});
  EXPECT_EQ(phase(1), JobPhase::running);
  EXPECT_EQ(t.s.jobs.at(JobId{1, 0}).attempt, 2U);
  again.restarts = 2;
  again.node_list = "n[6-7]";
  const auto out = look({again});  // it was put back and started between two looks
  EXPECT_EQ(only<JobEnded>(out).size(), 1U);
  EXPECT_EQ(t.s.jobs.at(JobId{1, 0}).attempt, 3U);
}

TEST_F(Pictured, WhoCameFirstIsToldFirst) {
  const auto came = only<JobSubmitted>(look({gate(9), gate(3), gate(7)}));
  ASSERT_EQ(came.size(), 3U);
  EXPECT_EQ(came[0].job, (JobId{3, 0}));
  EXPECT_EQ(came[2].job, (JobId{9, 0}));
}

TEST_F(Pictured, OnlyWhatTheGateHoldsIsMustersToStart) {
  JobRow advised = gate(2);
  advised.partition = "gpu";
  JobRow off = gate(3);
  off.partition = "debug";
  JobRow begin = gate(1);
  begin.admin_comment.clear();
  look({begin, advised, off});
  EXPECT_NE(barred(1).find("gate"), std::string::npos) << "its owner said --begin";
  look({gate(1), advised, off});
  EXPECT_EQ(barred(1), "");
  EXPECT_NE(barred(2).find("only advises"), std::string::npos);
  EXPECT_NE(barred(3).find("off"), std::string::npos);
  JobRow held = gate(1);
  held.reason = "JobHeldUser";
  held.priority = 0;
  look({held, advised, off});
  EXPECT_NE(barred(1).find("held"), std::string::npos);
}

TEST_F(Pictured, WhatCouldNotStartIsLeftAloneForAWhile) {
  look({gate(1)});
  for (const Body& b : p.bar(JobId{1, 0}, "QOSMaxGRESPerUser", now + minutes(1))) t.tell(b);
  look({gate(1)});
  EXPECT_EQ(barred(1), "QOSMaxGRESPerUser");
  now = now + minutes(2);
  look({gate(1)});
  EXPECT_EQ(barred(1), "");
}

TEST_F(Pictured, WhatMusterCannotPlaceIsSlurms) {
  JobRow large = gate(2);
  large.nodes = 9;
  JobRow elsewhere = gate(3);
  elsewhere.partition = "debug";
  look({gate(1), large, elsewhere});
  EXPECT_EQ(p.not_ours().size(), 2U);
  EXPECT_NE(p.not_ours().at(JobId{2, 0}).find("9 nodes"), std::string::npos);
  EXPECT_NE(p.not_ours().at(JobId{3, 0}).find("debug"), std::string::npos);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(p.not_ours().count(JobId{1, 0}), 0U) << "it may be tried again";
    EXPECT_EQ(only<JobAmended>(p.bar(JobId{1, 0}, "it could not start", now)).size(), 1U) << "told at once";
  }
  EXPECT_NE(p.not_ours().at(JobId{1, 0}).find("3 times it could not start"), std::string::npos);
  JobRow left = row(1, "PENDING");
  left.reason = "Resources";
  left.admin_comment = "muster: left to Slurm: 3 times it could not start";
  look({left});
  EXPECT_EQ(barred(1), "Slurm places it: 3 times it could not start") << "as its comment says";
  EXPECT_EQ(p.not_ours().count(JobId{1, 0}), 0U);
}

TEST_F(Pictured, MusterDoesNotPlaceWhereAPartitionHasChanged) {
  PartitionRow batch{"batch", "n[0-7]", 0, true, false, {}};
  PartitionRow debug{"debug", "n[0-1]", 0, true, false, {}};
  EXPECT_TRUE(p.see_partitions({batch, debug}).empty()) << "in debug it is off";
  look({gate(1)});
  EXPECT_TRUE(p.not_ours().empty());
  batch.nodes = "n[0-3]";
  EXPECT_EQ(p.see_partitions({batch, debug}).size(), 1U);
  EXPECT_TRUE(p.see_partitions({batch, debug}).empty()) << "once is enough";
  EXPECT_NE(p.not_ours().at(JobId{1, 0}).find("other nodes than when"), std::string::npos);
  EXPECT_EQ(p.see_partitions({debug}).size(), 1U);
  EXPECT_EQ(p.not_ours().at(JobId{1, 0}), "Slurm has no partition batch");
  batch.nodes = "n[0-7]";
  EXPECT_EQ(p.see_partitions({batch, debug}).size(), 1U) << "said when it is mended";
  EXPECT_TRUE(p.not_ours().empty());
}

TEST_F(Pictured, WhatAPartitionNeverGivesIsSlurmsToSay) {
  PartitionRow batch{"batch", "n[0-7]", 0, true, false, {}};
  batch.nodes_max = 2;
  batch.time_max_s = 3600;
  p.see_partitions({batch});
  JobRow large = gate(1), lasting = gate(2), right = gate(3);
  large.nodes = 3;
  lasting.time_limit_s = 7200;
  right.time_limit_s = 3600;
  look({large, lasting, right});
  const auto theirs = p.not_ours();
  EXPECT_EQ(theirs.at(JobId{1, 0}), "partition batch gives a job 2 nodes at most");
  EXPECT_EQ(theirs.at(JobId{2, 0}), "its time limit is longer than partition batch allows");
  EXPECT_EQ(theirs.count(JobId{3, 0}), 0U);
}

TEST_F(Pictured, AJobIsBoundToTheNodesOfItsPartition) {
  site.pools = {{"batch", {NodeId{2}, NodeId{3}, NodeId{5}}}};
  EXPECT_TRUE(
      p.see_partitions({{"batch", "n[2-3,5],cpu[0-9]", 0, true, false, {}}, {"debug", "n0", 0, true, false, {}}}).empty());
  JobRow large = gate(2);
  large.nodes = 4;
  const auto came = only<JobSubmitted>(look({gate(1), large}));
  ASSERT_EQ(came.size(), 2U);
  EXPECT_EQ(came[0].spec.pool, "batch");
  EXPECT_EQ(p.not_ours().count(JobId{1, 0}), 0U);
  EXPECT_EQ(p.not_ours().at(JobId{2, 0}), "it asks for 4 nodes, and Muster knows 3 of partition batch");
  EXPECT_EQ(p.see_partitions({{"batch", "n[2-5]", 0, true, false, {}}, {"debug", "n0", 0, true, false, {}}}).size(), 1U);
  EXPECT_EQ(p.see_partitions({{"batch", "cpu0", 0, true, false, {}}, {"debug", "n0", 0, true, false, {}}}).front(),
            "partition batch has no node that Muster knows");
}

TEST_F(Pictured, ALookAtOneJobSaysNothingOfTheOthers) {
  look({gate(1), gate(2), row(3, "RUNNING", "n[4-5]")});
  for (int i = 0; i < 3; ++i) {
    for (const Body& b : p.see_some({row(1, "RUNNING", "n[0-1]")}, now)) t.tell(b);
  }
  EXPECT_EQ(phase(1), JobPhase::running);
  EXPECT_EQ(phase(2), JobPhase::queued);
  EXPECT_EQ(phase(3), JobPhase::running);
}

TEST_F(Pictured, AJobBehindTheGateAgesAsItWouldInSlurm) {
  p.age_by({1000, 3600});
  JobRow old = gate(1);
  old.submitted = Time{0};
  JobRow young = gate(2);
  young.submitted = Time{0} + minutes(10);
  now = Time{0} + minutes(30);
  look({old, young});
  const auto priority = [&](std::uint32_t id) { return t.s.jobs.at(JobId{id, 0}).spec.priority; };
  EXPECT_NEAR(priority(1) - priority(2), 1000 / 6, 2) << "ten minutes of an hour";
  now = now + minutes(20);
  EXPECT_TRUE(look({old, young}).empty()) << "the order is the same: nothing to tell";
}

TEST_F(Pictured, ARestartUnderWayIsNotTakenForSomebodyElsesDoing) {
  look({row(1, "RUNNING", "n[0-1]")});
  Action a;
  a.verb = Verb::restart_job;
  a.job = JobId{1, 0};
  a.attempt = 2;
  p.take_in_hand(a);
  JobRow r = gate(1);
  r.restarts = 1;
  EXPECT_TRUE(look({r}).empty());
  JobRow again = row(1, "RUNNING", "n[4-5]");
  again.restarts = 1;
  const auto out = look({again});
  EXPECT_TRUE(only<JobRequeued>(out).empty());
  EXPECT_EQ(t.s.jobs.at(JobId{1, 0}).attempt, 2U);
  EXPECT_EQ(p.running(JobId{1, 0}), 2U);
}

TEST_F(Pictured, WhatSlurmPutBackGoesBehindTheGateAgain) {
  look({row(1, "RUNNING", "n[0-1]")});
  JobRow r = row(1, "PENDING");
  r.reason = "BeginTime";
  r.required = "n[0-1]";
  r.admin_comment = "muster: place: 2 nodes on 1 leaf switch";
  r.restarts = 1;
  look({r});
  EXPECT_EQ(p.strays(), (std::set<JobId>{JobId{1, 0}})) << "or it waits for those nodes for ever";
  EXPECT_NE(barred(1), "");
  r.admin_comment = "muster: gate";
  r.required.clear();
  look({r});
  EXPECT_TRUE(p.strays().empty());
  EXPECT_EQ(barred(1), "");
  Action a;
  a.verb = Verb::start_job;
  a.job = JobId{1, 0};
  p.take_in_hand(a);
  r.admin_comment = "muster: place: 2 nodes on 1 leaf switch";
  look({r});
  EXPECT_TRUE(p.strays().empty()) << "on its way";
}

TEST_F(Pictured, NoGpuIsEverSomebodysTwice) {
  look({row(1, "RUNNING", "n[0-1]"), row(2, "RUNNING", "n[2-3]")});
  // Job 2 has ended and job 3 has its nodes: told in whatever order. Of job 1 nothing is heard, and job 4 is on one of its nodes.
  look({row(3, "RUNNING", "n[2-3]"), row(2, "COMPLETED", "n[2-3]"), row(4, "RUNNING", "n[1,4]")});
  EXPECT_EQ(phase(2), JobPhase::completed);
  EXPECT_EQ(phase(3), JobPhase::running);
  EXPECT_EQ(phase(1), JobPhase::completed) << "Slurm gave its node away";
  EXPECT_EQ(phase(4), JobPhase::running);
  for (const NodeState& n : t.s.nodes) EXPECT_LE(n.shares.size(), 1U);
}

TEST_F(Pictured, PartsOfNodesAreToldWhenItIsKnownWhich) {
  const auto part = [&](std::uint32_t id) {
    JobRow r = row(id, "RUNNING", "n0");
    r.nodes = 1;
    r.gpus_per_node = 2;
    return r;
  };
  EXPECT_TRUE(look({part(1), part(2)}).empty());
  EXPECT_EQ(p.without_slots().size(), 2U);
  p.told_slots(JobId{1, 0}, {{"n0", 0x0c}});
  p.told_slots(JobId{2, 0}, {});
  look({part(1), part(2)});
  EXPECT_EQ(t.s.jobs.at(JobId{1, 0}).slots, std::vector<std::uint16_t>{0x0c});
  EXPECT_EQ(t.s.jobs.at(JobId{2, 0}).slots, std::vector<std::uint16_t>{0x03})
      << "the lowest that are free, where Slurm does not tell";
}

TEST_F(Pictured, APartialAnswerIsNoEnd) {
  look({row(1, "RUNNING", "n[0-1]"), row(2, "PENDING")});
  EXPECT_TRUE(look({}).empty()) << "one look without them";
  look({row(1, "RUNNING", "n[0-1]"), row(2, "PENDING")});
  EXPECT_TRUE(look({}).empty());
  look({});
  EXPECT_EQ(phase(1), JobPhase::completed);
  EXPECT_EQ(phase(2), JobPhase::cancelled);
}

TEST_F(Pictured, WhoeverDrainedANodeHoldsIt) {
  auto rows = all_nodes();
  EXPECT_TRUE(look_nodes(rows).empty());
  rows[2].state = {"IDLE", "DRAIN"};
  rows[2].reason = "bad fan";
  rows[2].reason_by = "ada";
  auto held = only<NodeHeld>(look_nodes(rows));
  ASSERT_EQ(held.size(), 1U);
  EXPECT_TRUE(held[0].held && held[0].node == NodeId{2} && held[0].by == "ada" && held[0].why == "bad fan");
  EXPECT_TRUE(look_nodes(rows).empty());
  rows[2].state = {"IDLE"};
  held = only<NodeHeld>(look_nodes(rows));
  ASSERT_EQ(held.size(), 1U);
  EXPECT_FALSE(held[0].held);
}

TEST_F(Pictured, WhatSlurmDrainedByItselfIsNoPersons) {
  reasons.slurm_user("slurm(64030)");
  auto rows = all_nodes();
  const auto shows = [&](std::size_t n, std::vector<std::string> state, const char* reason, const char* by) {
    rows[n].state = std::move(state);
    rows[n].reason = reason;
    rows[n].reason_by = by;
  };
  shows(2, {"IDLE", "DRAIN"}, "Kill task failed", "root");
  shows(3, {"DOWN"}, "Node unexpectedly rebooted", "slurm");
  shows(4, {"DOWN", "NOT_RESPONDING"}, "Not responding", "slurm");
  shows(5, {"DOWN"}, "RMA 4711", "root");
  const auto all = look_nodes(rows);
  const auto held = only<NodeHeld>(all);
  ASSERT_EQ(held.size(), 3U);
  EXPECT_TRUE(held[0].node == NodeId{2} && held[0].engine && held[0].leftovers);
  EXPECT_TRUE(held[1].node == NodeId{3} && held[1].engine && !held[1].leftovers);
  EXPECT_TRUE(held[2].node == NodeId{5} && !held[2].engine && held[2].held) << "set down by a person";
  const auto changed = only<NodeChanged>(all);
  ASSERT_EQ(changed.size(), 2U) << "n3 is there, and Slurm waits for somebody to say so";
  EXPECT_TRUE(changed[0].node == NodeId{4} && changed[1].node == NodeId{5});
  Action drain;
  drain.verb = Verb::drain_node;
  drain.node = NodeId{2};
  p.take_in_hand(drain);
  p.let_go(drain, true);
  EXPECT_TRUE(look_nodes(rows).empty()) << "Muster's now, whatever Slurm adds";
  rows[2].reason = "muster: incident 1: drained by Slurm";
  reasons.wrote(NodeId{2}, rows[2].reason);
  EXPECT_TRUE(look_nodes(rows).empty());
  rows[2].state = {"DOWN"};
  EXPECT_TRUE(only<NodeHeld>(look_nodes(rows)).empty()) << "down after its reboot: not put back by anybody";
  EXPECT_EQ(only<NodeHeld>(look_nodes(all_nodes())).size(), 3U) << "and here everything is back";
}

TEST_F(Pictured, AStartThatItsOwnerSetIsKept) {
  JobRow r = gate(1);
  r.eligible = r.started = now + minutes(60);
  look({r});
  EXPECT_EQ(barred(1), "");
  r.admin_comment = "muster: gate, again (1)";
  r.eligible = now + minutes(60);
  r.started = now + minutes(75);
  look({r});
  EXPECT_EQ(barred(1), "") << "Muster put it there; that nodes are expected to be free later is no wish of anybody's";
  r.eligible = r.started = now + minutes(10);
  look({r});
  EXPECT_EQ(barred(1), "Slurm places it: somebody set its start time");
  EXPECT_FALSE(p.gated(JobId{1, 0}));
  EXPECT_EQ(p.owners_starts(), std::vector<JobId>{(JobId{1, 0})}) << "its comment is to say so";
  look({r});
  EXPECT_FALSE(p.gated(JobId{1, 0})) << "and stays theirs";
}

TEST_F(Pictured, AWordThatAPersonAddsMakesTheNodeTheirs) {
  Action drain;
  drain.verb = Verb::drain_node;
  drain.node = NodeId{3};
  auto rows = all_nodes();
  p.take_in_hand(drain);
  reasons.wrote(NodeId{3}, "muster: incident 4: a lost GPU on n3: no new work there");
  p.let_go(drain, true);
  rows[3].state = {"IDLE", "DRAIN"};
  rows[3].reason_by = "root";
  for (const char* by_slurm : {"", " : Not responding", " : reboot issued : reboot complete"}) {
    rows[3].reason = std::string("muster: incident 5: a lost GPU on n3: no new work there") + by_slurm;
    EXPECT_TRUE(look_nodes(rows).empty()) << by_slurm;
  }
  rows[3].reason += " - bob: leave it, board out";
  const auto held = only<NodeHeld>(look_nodes(rows));
  ASSERT_EQ(held.size(), 1U);
  EXPECT_TRUE(held[0].held && !held[0].engine && held[0].by == "root");
}

TEST_F(Pictured, WhoIsOvertakenBySlurmsOwnIsSlurmsToo) {
  JobRow gang = gate(1), small = gate(2);
  gang.priority = 700;
  small.priority = 50;
  look({gang, small});
  JobRow array = row(3, "RUNNING", "n0");
  array.nodes = 1;
  array.priority = 100;
  array.started = now;
  now = now + seconds(5);
  array.started = now;
  look({gang, small, array});
  auto left = p.not_ours();
  ASSERT_EQ(left.size(), 1U) << "the other one comes after it";
  EXPECT_EQ(left.begin()->first, (JobId{1, 0}));
  EXPECT_NE(left.begin()->second.find("job 3"), std::string::npos);
  // Slurm keeps nodes for that one now: who is behind it stays Muster's.
  JobRow handed = gang, second = gate(4), again = array;
  handed.reason = "Resources";
  handed.admin_comment = std::string(kLeft) + left.begin()->second;
  second.priority = 600;
  look({handed, second, small, array});
  now = now + seconds(5);
  again.id = JobId{5, 0};
  again.started = now;
  look({handed, second, small, array, again});
  EXPECT_TRUE(p.not_ours().empty());
  look({second, small, array, again});
  look({second, small, array, again});
  left = p.not_ours();
  ASSERT_EQ(left.size(), 1U) << "it has started: the next one is first";
  EXPECT_EQ(left.begin()->first, (JobId{4, 0}));
  now = now + seconds(60);
  look({second, small, array, again});
  EXPECT_TRUE(p.not_ours().empty()) << "nobody has gone ahead since";
}

TEST_F(Pictured, WhatWouldRunIntoAReservationIsSlurms) {
  ReservationRow r;
  r.name = "maint";
  r.nodes = "n[0-1]";
  r.from = now + minutes(10);
  r.until = now + minutes(40);
  look_nodes(all_nodes(), {r});
  JobRow longer = gate(1), shorter = gate(2), inside = gate(3);
  longer.time_limit_s = 1800;
  shorter.time_limit_s = 300;
  inside.time_limit_s = 300;
  inside.reservation = "maint";
  look({longer, shorter, inside});
  const auto left = p.not_ours();
  ASSERT_EQ(left.size(), 2U);
  EXPECT_EQ(left.at(JobId{1, 0}), "reservation maint begins before its time limit is over");
  EXPECT_EQ(left.at(JobId{3, 0}), "it asks for a reservation");
  look_nodes(all_nodes());
  look({longer, shorter});
  EXPECT_EQ(p.not_ours().count(JobId{1, 0}), 0U) << "it was cancelled";
}

TEST_F(Pictured, AJobThatHasItsNodesAloneLeavesNoneOfTheirGpusFree) {
  JobRow r = row(1, "RUNNING", "n[0-1]");
  r.gpus_per_node = 0;
  r.sharing = "NO";
  look({r});
  EXPECT_FALSE(placeable(t.s, NodeId{0}) && t.s.nodes[0].shares.empty());
  EXPECT_EQ(t.s.nodes[0].shares.at(0).slots, all_slots(t.s.site));
  JobRow beside = row(2, "RUNNING", "n2");
  beside.gpus_per_node = 0;
  beside.sharing = "OK";
  look({r, beside});
  EXPECT_EQ(t.s.nodes[2].shares.at(0).slots, 0);
}

TEST_F(Pictured, WhileAPartitionIsClosedNothingIsTriedThere) {
  PartitionRow batch;
  batch.name = "batch";
  batch.nodes = "n[0-7]";
  batch.up = false;
  p.see_partitions({batch});
  look({gate(1)});
  EXPECT_EQ(barred(1), "partition batch is closed in Slurm");
  EXPECT_TRUE(p.not_ours().empty());
  batch.up = true;
  p.see_partitions({batch});
  look({gate(1)});
  EXPECT_EQ(barred(1), "");
}

TEST_F(Pictured, NothingIsGivenAwayThatRuns) {
  look({gate(1)});
  JobRow r = row(1, "RUNNING", "n[0-1]");
  r.admin_comment = "muster: place: 2 nodes";
  look({r});
  PartitionRow batch;
  batch.name = "batch";
  batch.nodes = "n[0-6]";
  p.see_partitions({batch});
  EXPECT_TRUE(p.not_ours().empty());
}

TEST_F(Pictured, MustersOwnDrainIsItsOwn) {
  auto rows = all_nodes();
  look_nodes(rows);
  Action a;
  a.verb = Verb::drain_node;
  a.node = NodeId{3};
  p.take_in_hand(a);
  rows[3].state = {"IDLE", "DRAIN"};
  rows[3].reason = "muster: incident 4: gpu_lost";
  reasons.wrote(NodeId{3}, rows[3].reason);
  EXPECT_TRUE(look_nodes(rows).empty()) << "under way";
  p.let_go(a, true);
  EXPECT_TRUE(look_nodes(rows).empty()) << "done";
  rows[3].reason = "I take over";
  const auto held = only<NodeHeld>(look_nodes(rows));
  ASSERT_EQ(held.size(), 1U);
  EXPECT_TRUE(held[0].held) << "a person's from now on";
}

TEST_F(Pictured, ALookThatBeganBeforeAnOrderEndedDoesNotSpeakOfIt) {
  Action drain;
  drain.verb = Verb::drain_node;
  drain.node = NodeId{2};
  auto rows = all_nodes();
  look_nodes(rows);
  p.take_in_hand(drain);
  p.look_begins();  // Slurm answers; then the order is carried out; then the answer is read
  p.let_go(drain, true);
  EXPECT_TRUE(p.see_nodes(rows, {}, now).empty()) << "nobody has taken the drain back";
  rows[2].state = {"IDLE", "DRAIN"};
  rows[2].reason = "muster: incident 1: a lost GPU";
  reasons.wrote(NodeId{2}, rows[2].reason);
  EXPECT_TRUE(look_nodes(rows).empty());
  EXPECT_EQ(only<NodeHeld>(look_nodes(all_nodes())).size(), 1U) << "now somebody has";
}

TEST_F(Pictured, ADrainOfAMusterNobodyRemembersIsForAPerson) {
  auto rows = all_nodes();
  rows[1].state = {"IDLE", "DRAIN"};
  rows[1].reason = "muster: incident 9: node_silent";
  const auto held = only<NodeHeld>(look_nodes(rows));
  ASSERT_EQ(held.size(), 1U);
  EXPECT_TRUE(held[0].held);
}

TEST_F(Pictured, ConditionsOfNodes) {
  auto rows = all_nodes();
  rows[0].state = {"DOWN", "NOT_RESPONDING"};
  rows[1].state = {"DOWN", "REBOOT_ISSUED"};
  rows[2].state = {"IDLE", "POWERED_DOWN"};
  rows[3].state = {"IDLE", "PLANNED"};
  ReservationRow maintenance{"maint", "n4", Time{1}, Time{0} + hours(1000), {"MAINT"}};
  rows.pop_back();  // n7 is not in the configuration any more
  look_nodes(rows, {maintenance});
  std::map<std::uint32_t, NodeCondition> seen;
  auto told = [&](const std::vector<Body>& all) {
    for (const NodeChanged& c : only<NodeChanged>(all)) seen[c.node.v] = c.condition;
  };
  Picture fresh(site, {}, Mode::advise, reasons);
  told(fresh.see_nodes(rows, {maintenance}, Time{0} + hours(1)));
  EXPECT_EQ(seen.count(7), 0U) << "one look without it says nothing";
  told(fresh.see_nodes(rows, {maintenance}, Time{0} + hours(1)));
  EXPECT_EQ(seen.at(0), NodeCondition::down);
  EXPECT_EQ(seen.at(1), NodeCondition::booting);
  EXPECT_EQ(seen.at(2), NodeCondition::kept);
  EXPECT_EQ(seen.count(3), 0U);
  EXPECT_EQ(seen.at(4), NodeCondition::kept);
  EXPECT_EQ(seen.at(7), NodeCondition::down);
}

TEST_F(Pictured, ANodeThatComesBackIsNotUsedAtOnce) {
  auto rows = all_nodes();
  look_nodes(rows);
  EXPECT_EQ(p.heard().size(), 8U);
  rows[0].state = {"DOWN", "NOT_RESPONDING"};
  EXPECT_EQ(only<NodeChanged>(look_nodes(rows)).at(0).condition, NodeCondition::down);
  EXPECT_EQ(p.heard().size(), 7U) << "nobody vouches for it";
  rows[0].state = {"IDLE"};
  EXPECT_EQ(only<NodeChanged>(look_nodes(rows)).at(0).condition, NodeCondition::booting);
  for (int i = 0; i < 9; ++i) EXPECT_TRUE(only<NodeChanged>(look_nodes(rows)).empty());
  EXPECT_EQ(only<NodeChanged>(look_nodes(rows)).at(0).condition, NodeCondition::up);
  EXPECT_TRUE(only<NodeChanged>(look_nodes(rows)).empty());
  rows[0].state = {"IDLE", "NOT_RESPONDING"};
  EXPECT_EQ(only<NodeChanged>(look_nodes(rows)).at(0).condition, NodeCondition::booting) << "Slurm starts nothing there";
}

TEST_F(Pictured, WithoutGpusItIsBesideOthersAndTheNodeIsBusy) {
  JobRow plain = row(2, "RUNNING", "n0");
  plain.nodes = 1;
  plain.gpus_per_node = 0;
  look({row(1, "RUNNING", "n[0-1]")});
  for (int i = 0; i < 3; ++i) look({row(1, "RUNNING", "n[0-1]"), plain});
  EXPECT_EQ(phase(1), JobPhase::running) << "a job of cores only takes no GPUs from it";
  EXPECT_EQ(phase(2), JobPhase::running);
  EXPECT_EQ(t.s.nodes[0].shares.size(), 2U);
  look({row(1, "COMPLETED", "n[0-1]"), plain});
  EXPECT_TRUE(t.s.nodes[0].busy()) << "nothing is done to the node under it";
  EXPECT_FALSE(t.s.nodes[1].busy());
}

TEST_F(Pictured, PartsOfAHeterogeneousJobAreFollowedAsOne) {
  const auto part = [](const char* state, const char* nodes) {
    JobRow r = row(7, state, nodes);
    r.het = true;
    r.nodes = 1;
    return r;
  };
  EXPECT_TRUE(look({part("PENDING", ""), part("PENDING", "")}).empty()) << "Slurm places it";
  look({part("RUNNING", "n2"), part("RUNNING", "n5")});
  EXPECT_TRUE(t.s.nodes[2].busy());
  EXPECT_TRUE(t.s.nodes[5].busy());
  EXPECT_TRUE(t.s.jobs.at(JobId{7, 0}).spec.no_requeue) << "it is never moved";
  look({part("COMPLETED", "n2"), part("COMPLETED", "n5")});
  EXPECT_EQ(phase(7), JobPhase::completed);
  EXPECT_FALSE(t.s.nodes[5].busy());
}

TEST_F(Pictured, WhatOnlySlurmCanPlaceIsSlurms) {
  JobRow named = gate(1), cores = gate(2), parts = gate(3), features = gate(4), later = gate(5), switches = gate(6);
  named.required = "n3";
  cores.gpus_per_node = 0;
  parts.gpus_per_node = 1;
  features.features = "nvme";
  later.eligible = later.started = now + hours(2);
  switches.switches = 1;
  look({named, cores, parts, features, later, switches, gate(8)});
  const auto theirs = p.not_ours();
  EXPECT_EQ(theirs.at(JobId{1, 0}), "it names its nodes");
  EXPECT_EQ(theirs.at(JobId{2, 0}), "it asks for no GPUs");
  EXPECT_EQ(theirs.at(JobId{3, 0}), "it asks for parts of several nodes");
  EXPECT_EQ(theirs.at(JobId{4, 0}), "it asks for features of nodes");
  EXPECT_EQ(theirs.count(JobId{5, 0}), 0U) << "its owner has chosen a time: it is left as it is";
  EXPECT_FALSE(barred(5).empty());
  EXPECT_EQ(theirs.count(JobId{6, 0}), 1U);
  EXPECT_EQ(theirs.count(JobId{8, 0}), 0U);
  for (const std::uint32_t id : {1U, 2U, 3U, 4U, 6U}) EXPECT_EQ(barred(id), "Slurm places it: " + theirs.at(JobId{id, 0}));
}

TEST_F(Pictured, WhereJobsStopOthersSlurmPlaces) {
  PartitionRow batch{"batch", "n[0-7]", 100, true, false, {}};
  PartitionRow low{"low", "n[6-7]", 10, true, true, {}};
  PartitionRow debug{"debug", "n0", 100, true, false, {}};
  EXPECT_TRUE(p.see_partitions({batch, low, debug}).empty()) << "nobody preempts";
  p.preempt_by_partition(true);
  EXPECT_EQ(p.see_partitions({batch, low, debug}).size(), 1U);
  look({gate(1)});
  EXPECT_EQ(p.not_ours().at(JobId{1, 0}), "jobs of partition batch stop those of low, which only Slurm does");
  low.stoppable = false;
  EXPECT_EQ(p.see_partitions({batch, low, debug}).size(), 1U) << "as it should be again";
  EXPECT_TRUE(p.not_ours().empty());
}

TEST_F(Pictured, WhatTheJournalKnowsIsNotToldAgain) {
  look({row(1, "RUNNING", "n[0-1]"), row(2, "PENDING")});
  Picture again(site, {{"batch", Mode::place}}, Mode::advise, reasons);
  again.know(t.s);
  EXPECT_TRUE(only<JobSubmitted>(again.see_jobs({row(1, "RUNNING", "n[0-1]"), row(2, "PENDING")}, now)).empty());
  const auto out = again.see_jobs({row(1, "COMPLETED", "n[0-1]"), row(2, "RUNNING", "n[2-3]")}, now);
  EXPECT_EQ(only<JobEnded>(out).size(), 1U) << "what happened meanwhile is";
  EXPECT_EQ(only<JobStarted>(out).size(), 1U);
}

TEST(SlurmSite, LeavesAndPodsComeFromTheTopology) {
  std::vector<NodeRow> nodes(5);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].name = "g" + std::to_string(i);
    nodes[i].gpus = 8;
  }
  nodes[4].gpus = 0;
  const std::vector<SwitchRow> switches = {
      {"l0", 0, "g[0-1]", ""}, {"l1", 0, "g[2-3]", ""}, {"s0", 1, "g[0-1]", "l0"}, {"s1", 1, "g[2-3]", "l1"}};
  std::vector<std::string> left_out;
  const std::vector<PartitionRow> partitions = {
      {"all", "g[0-4]", 0, true, false, {}}, {"part", "g[2-4]", 0, true, false, {}}, {"cpus", "g4", 0, true, false, {}}};
  const auto site = site_of(nodes, switches, "c", partitions, &left_out);
  ASSERT_TRUE(site);
  EXPECT_EQ(site->nodes.size(), 4U);
  EXPECT_EQ(left_out, std::vector<std::string>{"g4"});
  EXPECT_EQ(site->nodes[3].leaf, 1U);
  EXPECT_EQ(site->nodes[3].pod, 1U);
  EXPECT_EQ(site->pods, 2U);
  EXPECT_EQ(site->gpus(), 32U);
  EXPECT_EQ(site->pools, (std::vector<Pool>{{"part", {NodeId{2}, NodeId{3}}}}));
  EXPECT_FALSE(site_of({}, {}, "c"));
}

TEST(SlurmSite, TheJournalsClusterStandsWhenNodesComeAndGo) {
  const auto made = [](std::vector<std::string> names, const char* cluster = "c") {
    std::vector<NodeRow> rows;
    for (std::string& n : names) {
      NodeRow r;
      r.name = std::move(n);
      r.gpus = 8;
      rows.push_back(std::move(r));
    }
    return site_of(rows, {}, cluster).value();
  };
  const Site known = made({"g0", "g1", "g2"});
  const std::vector<PartitionRow> partitions = {{"all", "g[1-3]", 0, true, false, {}}};
  std::vector<std::string> news;
  EXPECT_EQ(as_known(made({"g0", "g1", "g2"}), known, partitions, &news).nodes.size(), 3U);
  EXPECT_TRUE(news.empty());
  const Site now = as_known(made({"g1", "g2", "g3"}), known, partitions, &news);
  ASSERT_EQ(now.nodes.size(), 3U);
  EXPECT_EQ(now.nodes[0].name, "g0");
  EXPECT_EQ(now.pools, (std::vector<Pool>{{"all", {NodeId{1}, NodeId{2}}}})) << "Slurm no longer has g0";
  ASSERT_EQ(news.size(), 2U);
  EXPECT_NE(news[0].find("1 nodes are new and left aside: g3"), std::string::npos) << news[0];
  EXPECT_NE(news[1].find("g0"), std::string::npos) << news[1];
  EXPECT_EQ(as_known(made({"g7"}, "other"), known, partitions, &news).nodes.size(), 1U) << "the loop refuses it";
}

}  // namespace
}  // namespace muster::slurm
