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

TEST(FindingView, TheSiteIsTheWholeSite) {
  Story t(8);
  EXPECT_EQ(say(whereabouts(t.s, finding(FindingKind::common_cause, {}, -1)), -1), "the whole site");
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
