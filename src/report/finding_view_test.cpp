#include "report/finding_view.h"

#include <gtest/gtest.h>

#include "model/story.h"

namespace muster::report {
namespace {

Finding finding(FindingKind kind, NodeId node, std::int16_t slot) {
  Finding f;
  f.id = FindingId{7};
  f.kind = kind;
  f.node = node;
  f.slot = slot;
  return f;
}

TEST(FindingView, SaysWhereAGpuIsAndWhoItIs) {
  Story t(8);
  const Finding f = finding(FindingKind::gpu_lost, NodeId{5}, 3);
  EXPECT_EQ(say(whereabouts(t.s, f), 3), "n5, GPU 3 at 0000:13:00, rack r1, leaf switch 1");
  t.tell(GpuIdentified{NodeId{5}, {3, "GPU-1", "1650", "", ""}});
  EXPECT_EQ(say(whereabouts(t.s, f), 3), "n5, GPU 3 at 0000:13:00 (GPU-1, serial 1650), rack r1, leaf switch 1");
}

TEST(FindingView, NamesTheNicOfALink) {
  Story t(8);
  EXPECT_EQ(say(whereabouts(t.s, finding(FindingKind::link_down, NodeId{5}, 3)), 3), "n5, NIC mlx5_3, rack r1, leaf switch 1");
}

TEST(FindingView, SaysWhatTheNicIsWiredToWhereThatIsKnown) {
  Story t(8);
  Cabling cables;
  cables.set({{"leaf03"}, {5 * 16 + 3}, {0}, {"17"}, {"C-00412"}});
  t.tell(CablesDeclared{cables});
  for (const FindingKind k : {FindingKind::link_down, FindingKind::link_flap, FindingKind::ib_degraded}) {
    const Whereabouts w = whereabouts(t.s, finding(k, NodeId{5}, 3));
    EXPECT_EQ(say(w, 3), "n5, NIC mlx5_3, cable C-00412 to port 17 of leaf03, rack r1, leaf switch 1");
    EXPECT_EQ(w.switch_name + "|" + w.switch_port + "|" + w.cable, "leaf03|17|C-00412");
  }
  Finding f = finding(FindingKind::failure_predicted, NodeId{5}, 3);
  EXPECT_TRUE(whereabouts(t.s, f).switch_name.empty()) << "of the GPU, not of its NIC";
  f.subject = kLinkSubject;
  EXPECT_EQ(whereabouts(t.s, f).switch_name, "leaf03");
  EXPECT_TRUE(whereabouts(t.s, finding(FindingKind::nvlink_degraded, NodeId{5}, 3)).switch_name.empty());
  EXPECT_TRUE(whereabouts(t.s, finding(FindingKind::link_down, NodeId{5}, 2)).switch_name.empty());
}

TEST(FindingView, NamesTheCableOfANodeAtAnEndOfAFaultOfTheNetwork) {
  Story t(8);
  Cabling cables;
  cables.set({{"leaf03"}, {5 * 16 + 3}, {0}, {"17"}, {"C-00412"}});
  t.tell(CablesDeclared{cables});
  Finding f = finding(FindingKind::fabric_fault, NodeId{5}, -1);
  for (const char* subject : {"missing_cable leaf-0002[3] - n5 mlx5_3[1]", "rail3: missing_cable n5 mlx5_3[1] - leaf-0002[3]"}) {
    f.subject = subject;
    const Whereabouts w = whereabouts(t.s, f);
    EXPECT_EQ(w.switch_name + "|" + w.switch_port + "|" + w.cable, "leaf03|17|C-00412") << subject;
    EXPECT_EQ(say(w, f.slot), "n5, NIC mlx5_3, cable C-00412 to port 17 of leaf03, rack r1, leaf switch 1");
    EXPECT_EQ(say_briefly(w, f.slot), "n5, NIC mlx5_3");
  }
  f.subject = "missing_cable n5 HCA-1[1] - leaf-0002[3]";
  EXPECT_EQ(say(whereabouts(t.s, f), f.slot), "n5, NIC HCA-1, rack r1, leaf switch 1") << "not in the cluster file by that name";
  for (const char* none : {"dead_host n5", "missing_cable n55 mlx5_3[1] - leaf-0002[3]", "", "swapped_cables", "missing_cable ",
                           "swapped_cables leaf1[1] - leaf1[2] - n5 mlx5_2[1] - n5 mlx5_3[1]"}) {
    f.subject = none;
    EXPECT_EQ(say(whereabouts(t.s, f), f.slot), "n5, rack r1, leaf switch 1") << none;
  }
}

TEST(FindingView, AnIncidentIsToldWithItsPlaceAndItsSubject) {
  Story t(8);
  Incident i;
  i.cause = FindingKind::fabric_fault;
  i.slot = 1;
  EXPECT_EQ(incident_words(t.s, i, leading(t.s, i)), "a fault of the network on leaf switch 1") << "no finding of it is known";
  Finding f = finding(FindingKind::fabric_fault, {}, 1);
  f.subject = "missing_cable leaf1[17] - spine0[3]";
  f.evidence = {{Witness::scrape, t.now().utc, {}, "both ports are empty"}};
  t.tell(FindingOpened{f});
  i.findings = {f.id};
  EXPECT_EQ(incident_words(t.s, i, leading(t.s, i)),
            "a fault of the network on leaf switch 1: missing_cable leaf1[17] - spine0[3]");
  EXPECT_EQ(advice(f), suggestion(FindingKind::fabric_fault));
  f.evidence.push_back({Witness::scrape, t.now().utc, {}, "both ports are empty; do: plug it in again"});
  EXPECT_EQ(advice(f), "plug it in again");
  f.kind = FindingKind::link_down;
  EXPECT_EQ(advice(f), suggestion(FindingKind::link_down)) << "others' evidence is not ours to read advice from";
}

TEST(FindingView, ACommonCauseSaysWhatItsNodesHave) {
  Story t(8);
  Finding cause = finding(FindingKind::common_cause, {}, -1);
  cause.subject = "leaf switch 1";
  cause.evidence = {{Witness::scrape, t.now().utc, {}, "x"}};
  t.tell(FindingOpened{cause});
  EXPECT_EQ(say_subject(t.s, cause), "leaf switch 1");
  for (const std::uint32_t n : {4U, 5U}) {
    Finding f = finding(FindingKind::link_down, NodeId{n}, 0);
    f.id = FindingId{100 + n};
    f.part_of = cause.id;
    f.evidence = cause.evidence;
    t.tell(FindingOpened{f});
  }
  EXPECT_EQ(say_subject(t.s, cause), "leaf switch 1 (link_down)");
  Incident i;
  i.cause = FindingKind::common_cause;
  EXPECT_EQ(incident_words(t.s, i, cause), "a common cause on many nodes: leaf switch 1 (link_down)");
}

TEST(FindingView, TheSiteIsTheWholeSite) {
  Story t(8);
  EXPECT_EQ(say(whereabouts(t.s, finding(FindingKind::common_cause, {}, -1)), -1), "the whole site");
  EXPECT_EQ(say(whereabouts(t.s, finding(FindingKind::fabric_fault, {}, -1)), -1), "the whole site");
  EXPECT_EQ(say(whereabouts(t.s, finding(FindingKind::fabric_fault, {}, 1)), 1), "leaf switch 1");
  Finding hang = finding(FindingKind::nccl_hang, {}, -1);
  hang.subject = "job 41";
  EXPECT_EQ(say(whereabouts(t.s, hang), -1), "job 41") << "no engine told of it";
  hang.job = JobId{17, 4};
  EXPECT_EQ(say(whereabouts(t.s, hang), -1), "job 17_3");
}

TEST(FindingView, CountsTheNodesOfACauseOnce) {
  Story t(8);
  for (std::uint64_t i = 0; i < 4; ++i) {
    Finding f = finding(FindingKind::link_down, NodeId{static_cast<std::uint32_t>(i / 2)}, static_cast<std::int16_t>(i % 2));
    f.id = FindingId{100 + i};
    f.part_of = FindingId{7};
    f.evidence = {{Witness::scrape, t.now().utc, {}, "x"}};
    t.tell(FindingOpened{f});
  }
  const Members m = members_of(t.s, FindingId{7});
  EXPECT_EQ(m.findings.size(), 4U);
  EXPECT_EQ(m.nodes, (std::vector<std::string>{"n0", "n1"}));
}

TEST(FindingView, CostIsToldInMoneyWhereThereIsAPrice) {
  EXPECT_EQ(say(account::FindingCost{3'600'000, 0}), "1.00 GPU-hours");
  EXPECT_EQ(say(account::FindingCost{360'000'000, 250}), "100 GPU-hours, 250 USD");
}

}  // namespace
}  // namespace muster::report
