#include "report/audit.h"

#include <gtest/gtest.h>

#include "ingest/json.h"
#include "model/story.h"
#include "report/units.h"

namespace muster::report {
namespace {

class Audit : public ::testing::Test {
 protected:
  Audit() {
    const Now start = t.now();
    State past;
    for (Body b : {Body(RunStarted{"1.0", 1, 5, "j", start, "weather x1"}), Body(SiteDeclared{small_site(8)}),
                   Body(PolicyApplied{default_policy(), "abcdef0123456789abcdef"}), Body(TurnBegan{1, start})}) {
      const Event e = next_event(past, "test", start.utc, std::move(b));
      fold(past, e);
      story.take(e);
    }
    t.heard = [this](const Event& e) { story.take(e); };
  }
  Value report() const { return parse_json(story.json({"j", 7, "d", t.now().utc, t.now().utc, t.now().utc})).value(); }
  // The newest item is the first.
  Value item(std::size_t k = 0) const { return list_of(report(), "items").at(k); }
  std::string came_of(std::size_t k = 0) const { return text_of(item(k), "came_of"); }
  void ask(std::uint64_t id, IncidentId incident, Verb verb = Verb::reset_gpu) {
    ApprovalAsked a;
    a.id = id;
    a.action.verb = verb;
    a.action.node = NodeId{2};
    a.action.slot = 3;
    a.reason.incident = incident;
    a.why = "the policy wants every reset_gpu approved";
    t.tell(a);
  }
  void answer(CommandVerb verb, std::uint64_t approval, std::string reason = {}) {
    CommandGiven c;
    c.verb = verb;
    c.actor = "ada";
    c.id = "answer-" + std::to_string(++answers);
    c.approval = approval;
    c.reason = std::move(reason);
    t.tell(c);
  }

  Story t{8};
  AuditStory story;
  int answers = 0;
};

TEST_F(Audit, BeginsWithTheRunAndItsPolicyOfNobodyOnRecord) {
  EXPECT_EQ(text_of(report(), "simulation"), "weather x1") << "whoever reads the file later must know";
  EXPECT_EQ(text_of(item(0), "verb"), "policy_applied");
  EXPECT_EQ(text_of(item(0), "on"), "default (abcdef0123456789)");
  EXPECT_EQ(came_of(0), "in force");
  EXPECT_EQ(text_of(item(1), "on"), "muster 1.0");
  EXPECT_EQ(text_of(item(1), "who"), "");
  t.pass(hours(1));
  Policy other = default_policy();
  other.name = "ours";
  t.tell(PolicyApplied{other, "ff"});
  EXPECT_EQ(came_of(0), "in force");
  EXPECT_EQ(came_of(1), "in force until " + render_utc(t.now().utc));
  const Value r = report();
  EXPECT_EQ(number_of(*r.find("chain"), "events"), 7);
  EXPECT_EQ(text_of(*r.find("chain"), "digest"), "d");
}

TEST_F(Audit, FollowsACommandToTheAnswerOfTheEngine) {
  t.command(CommandVerb::drain, "c1", NodeId{2});
  EXPECT_EQ(text_of(item(), "who"), "ada");
  EXPECT_EQ(text_of(item(), "verb"), "drain");
  EXPECT_EQ(text_of(item(), "on"), "n2");
  EXPECT_EQ(came_of(), "not carried out yet");
  const std::string key = t.order(Verb::drain_node, NodeId{2}, {}, "c1");
  EXPECT_EQ(came_of(), "under way");
  t.ends(key, Status::failed, "no such node");
  EXPECT_EQ(came_of(), "failed: no such node");
  t.command(CommandVerb::undrain, "c2", NodeId{5});
  OrderRefused no;
  no.reason.wish = "c2";
  no.limit = "the node is not drained";
  t.tell(no);
  EXPECT_EQ(came_of(), "refused: the node is not drained");
}

TEST_F(Audit, CountsTheOrdersOfOneCommandAndForgetsThoseThatNeverArrived) {
  t.command(CommandVerb::cancel, "c1", {}, JobId{7, 0});
  const std::string lost = t.order(Verb::cancel_job, {}, {}, "c1");
  t.ends(lost, Status::not_received);
  EXPECT_EQ(came_of(), "never arrived");
  const std::string first = t.order(Verb::cancel_job, {}, {}, "c1");
  const std::string second = t.order(Verb::cancel_job, {}, {}, "c1");
  t.ends(first);
  EXPECT_EQ(came_of(), "2 orders: 1 done, 1 under way");
  t.ends(second);
  EXPECT_EQ(came_of(), "2 orders: 2 done");
}

TEST_F(Audit, TellsWhoAnsweredAnApprovalAndWhatFollowed) {
  const IncidentId i = t.open(t.find(FindingKind::ecc_uncorrectable, NodeId{2}, 3));
  ask(1, i);
  EXPECT_EQ(text_of(item(), "on"), "approval 1: reset_gpu n2 GPU 3 (incident 1)");
  EXPECT_EQ(came_of(), "waits for an answer");
  answer(CommandVerb::approve, 1, "go on");
  EXPECT_EQ(came_of(1), "granted by ada: go on");
  EXPECT_EQ(came_of(0), "granted");
  t.ends(t.order(Verb::reset_gpu, NodeId{2}, i));
  EXPECT_EQ(came_of(0), "granted; done");
  answer(CommandVerb::reject, 1);
  EXPECT_EQ(came_of(0), "too late: granted by ada");
  answer(CommandVerb::approve, 99);
  EXPECT_EQ(came_of(0), "nothing waited under this number");
}

TEST_F(Audit, SaysWhichQuestionsNobodyAnswered) {
  const IncidentId i = t.open(t.find(FindingKind::ecc_uncorrectable, NodeId{2}, 3));
  ask(1, i);
  ask(2, i);
  EXPECT_EQ(came_of(1), "nobody answered; asked again as approval 2");
  t.tell(IncidentClosed{i, "back in service"});
  EXPECT_EQ(came_of(0), "nobody answered; incident 1 was closed");
}

TEST_F(Audit, KnowsPausesRepeatsUpgradesAndWhatWasDoneAtTheEngine) {
  t.command(CommandVerb::pause, "p1");
  EXPECT_EQ(came_of(), "paused");
  t.command(CommandVerb::pause, "p1");
  EXPECT_NE(came_of().find("the same command as event"), std::string::npos);
  CommandGiven c;
  c.verb = CommandVerb::upgrade;
  c.actor = "ada";
  c.id = "u1";
  c.upgrade.version = "580.1";
  t.tell(c);
  EXPECT_EQ(text_of(item(), "on"), "driver 580.1 on all nodes");
  t.command(CommandVerb::upgrade_back, "u2");
  EXPECT_EQ(came_of(), "nothing to take back") << "nobody knows the version before";
  t.command(CommandVerb::upgrade_stop, "u3");
  EXPECT_EQ(came_of(), "stopping");
  t.tell(NodeHeld{NodeId{1}, true, "root", "fans", false, false});
  EXPECT_EQ(text_of(item(), "kind"), "engine");
  EXPECT_EQ(text_of(item(), "who"), "root");
  const std::size_t before = list_of(report(), "items").size();
  t.tell(NodeHeld{NodeId{1}, true, "slurm", "not responding", true, false});
  EXPECT_EQ(list_of(report(), "items").size(), before) << "the engine's own rules are nobody";
}

TEST_F(Audit, KeepsTheNewestAndCountsTheRest) {
  for (std::size_t k = 0; k < kAuditKept + 10; ++k) t.command(CommandVerb::pause, "p" + std::to_string(k));
  const Value r = report();
  EXPECT_EQ(list_of(r, "items").size(), kAuditKept);
  EXPECT_EQ(number_of(r, "older"), 12) << "the run, the policy and the first ten";
}

TEST_F(Audit, ShowsWhatPeopleWroteAsHarmlessTextOfBoundedLength) {
  CommandGiven c;
  c.verb = CommandVerb::drain;
  c.actor = "ada";
  c.id = "c1";
  c.node = NodeId{1};
  c.reason = "\x1b[2J" + std::string(5000, 'x');
  t.tell(c);
  const std::string reason = text_of(item(), "reason");
  EXPECT_LT(reason.size(), 500u);
  EXPECT_EQ(reason.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace muster::report
