#include "report/explain.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "model/story.h"

namespace muster::report {
namespace {

TEST(ExplainQueue, WhoMayNotStartIsNotExpectedNow) {
  Policy p = default_policy();
  QueueSpec lab;
  lab.name = "lab";
  lab.limit_gpus = 16;
  p.queues = {lab};
  Story t(8, p);
  JobSpec spec;
  spec.name = "gang";
  spec.account = "lab";
  for (std::uint32_t n = 1; n <= 4; ++n) t.tell(JobSubmitted{{n, 0}, spec});
  t.tell(JobStarted{{1, 0}, 1, {NodeId{0}}});
  const auto said = [&] { return join(explain(t.s, "queue").value().sentences, "\n"); };
  const std::string one_runs = said();
  EXPECT_NE(one_runs.find("1. job 2 (gang): expected now"), std::string::npos) << one_runs;
  EXPECT_NE(one_runs.find("2. job 3 (gang): not now, once those before it have started: lab has 16 of 16"), std::string::npos)
      << one_runs;
  t.tell(JobStarted{{2, 0}, 1, {NodeId{1}}});
  const std::string full = said();
  EXPECT_EQ(full.find("expected now"), std::string::npos) << full;
  EXPECT_NE(full.find("job 3 (gang) is not in line: lab has 16 of 16"), std::string::npos) << full;
}

Finding opened(Story& t, std::uint64_t id, FindingKind kind, NodeId node, std::int16_t slot, const std::string& subject) {
  Finding f;
  f.id = FindingId{id};
  f.kind = kind;
  f.severity = Severity::critical;
  f.node = node;
  f.slot = slot;
  f.subject = subject;
  f.opened = t.now().utc;
  f.code = 90;
  f.evidence = {{Witness::scrape, t.now().utc, {}, "both ports are empty; do: plug it in"}};
  t.tell(FindingOpened{f});
  return f;
}

TEST(ExplainNode, WhatIsOpenIsSaid) {
  Story t(8);
  const auto said = [&](const char* node) { return join(explain(t.s, node).value().sentences, "\n"); };
  EXPECT_NE(said("n5").find("Nothing is wrong"), std::string::npos);
  opened(t, 41, FindingKind::fabric_fault, NodeId{5}, -1, "missing_cable leaf1[2] - n5 mlx5_0[1]");
  opened(t, 42, FindingKind::node_silent, NodeId{5}, -1, "");
  const std::string text = said("n5");
  EXPECT_EQ(text.find("Nothing is wrong"), std::string::npos) << text;
  EXPECT_NE(text.find("Open: finding 41 (critical), a fault of the network: missing_cable leaf1[2] - n5 mlx5_0[1]."),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("Open: finding 42 (critical), a silent node."), std::string::npos) << text;
  EXPECT_NE(said("n4").find("Nothing is wrong"), std::string::npos) << said("n4");
  opened(t, 43, FindingKind::fabric_fault, {}, 1, "dead_switch leaf1");
  EXPECT_NE(said("n4").find("Open about leaf switch 1, which it is under: finding 43"), std::string::npos) << said("n4");
  EXPECT_NE(said("n0").find("Nothing is wrong"), std::string::npos) << said("n0");
}

TEST(ExplainJob, SaysWhichLeafHasAFault) {
  Story t(8);
  t.running({NodeId{4}});
  opened(t, 43, FindingKind::fabric_fault, {}, 1, "dead_switch leaf1");
  const std::string under = join(explain(t.s, "job 1").value().sentences, "\n");
  EXPECT_NE(under.find("Leaf switch 1, which it uses, has an open fault: finding 43"), std::string::npos) << under;
}

TEST(ExplainFinding, NamesTheEndsAndSaysWhatToDo) {
  Story t(8);
  opened(t, 43, FindingKind::fabric_fault, {}, 1, "dead_switch leaf1");
  const Explanation e = explain(t.s, "finding 43").value();
  EXPECT_EQ(e.title, "finding 43: a fault of the network on leaf switch 1: dead_switch leaf1");
  EXPECT_NE(join(e.sentences, "\n").find("Suggested: plug it in."), std::string::npos) << join(e.sentences, "\n");
}

TEST(ExplainRecorded, StepsAreSaidToBeAsOfTheLastCheckpoint) {
  Story t(8);
  const JobId job = t.running({NodeId{0}});
  t.tell(JobProgressed{job, 1, {104, 104, 0, 0, 0}});
  EXPECT_EQ(join(explain(t.s, "job 1").value().sentences, " ").find("as of its last checkpoint"), std::string::npos);
  EXPECT_NE(join(explain_recorded(t.s, "job 1").value().sentences, " ").find("as of its last checkpoint"), std::string::npos);
  EXPECT_EQ(join(explain_recorded(t.s, "n0").value().sentences, " ").find("as of its last checkpoint"), std::string::npos);
}

}  // namespace
}  // namespace muster::report
