#include "decide/wishes.h"

#include <gtest/gtest.h>

#include "model/story.h"

namespace muster::decide {
namespace {

Decision only(const State& s) {
  Decisions out;
  decide_wishes(s, out);
  EXPECT_EQ(out.size(), 1U);
  return out.empty() ? Decision{} : out[0];
}

const OrderRefused* refusal(const Decision& d) {
  const auto* body = std::get_if<Body>(&d);
  return body == nullptr ? nullptr : std::get_if<OrderRefused>(body);
}

TEST(Wishes, EachCommandBecomesItsOrderInThePersonsName) {
  const std::pair<CommandVerb, Verb> kPairs[] = {
      {CommandVerb::drain, Verb::drain_node}, {CommandVerb::submit, Verb::submit_job}, {CommandVerb::cancel, Verb::cancel_job}};
  for (const auto& [command, verb] : kPairs) {
    Story t(4);
    const JobId j = t.running({NodeId{2}});
    t.command(command, "c", NodeId{1}, j);
    const Decision d = only(t.s);
    const auto* w = std::get_if<Wanted>(&d);
    ASSERT_NE(w, nullptr) << name_of(command);
    EXPECT_EQ(w->action.verb, verb);
    EXPECT_EQ(w->reason.actor, "ada");
    EXPECT_EQ(w->reason.wish, "c");
  }
}

TEST(Wishes, AnArrayNamedWholeIsCancelledMemberByMember) {
  Story t(4);
  JobSpec spec;
  spec.name = "sweep";
  spec.array = 3;
  for (std::uint32_t k = 1; k <= 3; ++k) t.tell(JobSubmitted{JobId{8, k}, spec});
  t.tell(JobStarted{JobId{8, 2}, 1, {NodeId{0}}});
  t.tell(JobEnded{JobId{8, 2}, 1, JobEnd::completed, {}, ""});
  t.command(CommandVerb::cancel, "c", {}, JobId{8, 0});
  Decisions out;
  decide_wishes(t.s, out);
  ASSERT_EQ(out.size(), 2U);
  EXPECT_EQ(std::get<Wanted>(out[0]).action.job, (JobId{8, 1}));
  EXPECT_EQ(std::get<Wanted>(out[1]).action.job, (JobId{8, 3}));
  EXPECT_EQ(std::get<Wanted>(out[1]).reason.wish, "c");
}

TEST(Wishes, APersonMayTakeOverANodeThatMusterHolds) {
  Story t(4);
  t.drained(NodeId{1}, t.open(t.find(FindingKind::gpu_lost, NodeId{1}, 1)));
  t.command(CommandVerb::drain, "c", NodeId{1});
  EXPECT_TRUE(std::holds_alternative<Wanted>(only(t.s)));
}

TEST(Wishes, WhatCannotBeDoneIsRefusedWithItsReason) {
  struct Row {
    CommandVerb verb;
    NodeId node;
    JobId job;
    const char* says;
  };
  const Row rows[] = {{CommandVerb::drain, NodeId{99}, {}, "no such node"},
                      {CommandVerb::drain, NodeId{}, {}, "no such node"},
                      {CommandVerb::undrain, NodeId{99}, {}, "no such node"},
                      {CommandVerb::undrain, NodeId{1}, {}, "not drained"},
                      {CommandVerb::cancel, {}, JobId{99, 0}, "no such job"}};
  for (const Row& row : rows) {
    Story t(4);
    t.command(row.verb, "c", row.node, row.job);
    const Decision d = only(t.s);
    const OrderRefused* r = refusal(d);
    ASSERT_NE(r, nullptr) << row.says;
    EXPECT_NE(r->limit.find(row.says), std::string::npos) << r->limit;
    EXPECT_EQ(r->reason.wish, "c") << "so that it is answered";
  }
}

TEST(Wishes, AJobThatHasEndedIsNotCancelledAndADrainedNodeNotDrained) {
  Story t(4);
  const JobId j = t.running({NodeId{0}});
  t.tell(JobEnded{j, 1, JobEnd::completed, {}, {}});
  t.command(CommandVerb::cancel, "c", {}, j);
  EXPECT_NE(refusal(only(t.s)), nullptr);
  Story u(4);
  u.drained(NodeId{1}, {}, "first");
  u.command(CommandVerb::drain, "c", NodeId{1});
  EXPECT_NE(refusal(only(u.s)), nullptr);
}

TEST(Wishes, ASubmissionThatFitsNoClusterIsRefused) {
  for (const std::uint32_t nodes : {0U, 5U}) {
    Story t(4);
    CommandGiven c;
    c.verb = CommandVerb::submit;
    c.id = "c";
    c.spec.nodes = nodes;
    t.tell(c);
    EXPECT_NE(refusal(only(t.s)), nullptr) << nodes;
  }
}

TEST(Wishes, AreCarriedOutWhilePaused) {
  Story t(4);
  t.command(CommandVerb::pause, "p");
  t.command(CommandVerb::drain, "c", NodeId{1});
  EXPECT_TRUE(std::holds_alternative<Wanted>(only(t.s)));
}

}  // namespace
}  // namespace muster::decide
