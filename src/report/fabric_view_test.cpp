#include "report/fabric_view.h"

#include <gtest/gtest.h>

#include "model/story.h"

namespace muster::report {
namespace {

FabricView view(const State& s, FabricQuestion q = {}) {
  auto v = fabric_view(s, q);
  EXPECT_TRUE(v) << v.error().what;
  return v ? std::move(*v) : FabricView();
}

std::uint32_t count(const LinkCounts& counts, LinkState state) { return counts[static_cast<std::size_t>(state)]; }

// Four leaves of four nodes, two to a pod; each rail of the last leaf has a switch of its own.
Site wired_site() {
  Site site = small_site(16);
  CableTable t;
  t.switches = {"sw-a", "sw-b", "sw-c", "rail0", "rail1"};
  for (std::uint32_t n = 0; n < 16; ++n) {
    for (std::uint32_t slot = 0; slot < 2; ++slot) {
      t.nics.push_back(n * Cabling::kNicsMax + slot);
      t.far_ends.push_back(n < 12 ? n / 4 : 3 + slot);
      t.ports.push_back(std::to_string(n % 4 * 2 + slot + 1));
      t.labels.push_back(n == 0 && slot == 0 ? "C-0001" : "");
    }
  }
  site.cables.set(t);
  return site;
}

TEST(FabricView, CountsEveryLinkByLeafAndRail) {
  Story t(16);
  t.find(FindingKind::link_down, NodeId{5}, 3);
  t.find(FindingKind::ib_degraded, NodeId{6}, 3);
  t.find(FindingKind::link_flap, NodeId{4}, 0);
  t.tell(NodeChanged{NodeId{15}, NodeCondition::down, "gone"});
  const FabricView v = view(t.s);
  ASSERT_EQ(v.leaves.size(), 4u);
  EXPECT_EQ(v.rails, 8u);
  EXPECT_EQ(v.pods, 2u);
  EXPECT_EQ(count(v.links, LinkState::up), 128u - 3 - 8);
  const LeafView& leaf = v.leaves[1];
  EXPECT_EQ(leaf.name, "leaf 1");
  EXPECT_EQ(leaf.nodes, 4u);
  EXPECT_EQ(count(leaf.rails[3], LinkState::down), 1u);
  EXPECT_EQ(count(leaf.rails[3], LinkState::errors), 1u);
  EXPECT_EQ(count(leaf.rails[3], LinkState::up), 2u);
  EXPECT_EQ(count(leaf.rails[0], LinkState::flapped), 1u);
  EXPECT_EQ(count(v.leaves[3].links, LinkState::unknown), 8u) << "nobody knows of the links of a node that is down";
}

TEST(FabricView, ListsBadLinksWorstFirstAndLeavesOutThoseOfNodesThatAreAway) {
  Story t(8);
  t.find(FindingKind::link_flap, NodeId{1}, 1);
  t.pass(minutes(1));
  t.find(FindingKind::link_down, NodeId{2}, 2);
  t.find(FindingKind::nvlink_degraded, NodeId{3}, 5);
  t.find(FindingKind::node_silent, NodeId{4});
  const FabricView v = view(t.s);
  ASSERT_EQ(v.items.size(), 3u);
  EXPECT_EQ(v.items[0].state, LinkState::down);
  EXPECT_EQ(v.items[0].node, NodeId{2});
  EXPECT_TRUE(v.items[1].nvlink);
  EXPECT_EQ(v.items[2].state, LinkState::flapped);
  EXPECT_LT(v.items[2].since, v.items[0].since);
  EXPECT_EQ(count(v.links, LinkState::unknown), 8u);
  EXPECT_EQ(count(v.links, LinkState::errors), 0u) << "NVLinks are no links of the fabric";
}

TEST(FabricView, TellsTheIncidentAndTheJobOfABadLink) {
  Story t(8);
  const JobId job = t.running({{2}, {3}});
  const FindingId f = t.find(FindingKind::link_down, NodeId{2}, 2);
  const IncidentId incident = t.open(f);
  const FabricView v = view(t.s);
  ASSERT_EQ(v.items.size(), 1u);
  EXPECT_EQ(v.items[0].finding, f);
  EXPECT_EQ(v.items[0].incident, incident);
  EXPECT_EQ(v.items[0].job, job);
  EXPECT_EQ(v.items[0].hurt, job);
}

TEST(FabricView, TheJobHurtIsTheOneThatRanWhenTheLinkBrokeAndNotTheNextOne) {
  Story t(8);
  const JobId died = t.running({{2}, {3}});
  t.pass(hours(1));
  t.tell(JobEnded{died, 1, JobEnd::node_failed, {}, "a rank is lost"});
  t.tell(JobRequeued{died});
  t.pass(seconds(30));
  const FindingId f = t.find(FindingKind::link_flap, NodeId{2}, 2);
  t.pass(minutes(1));
  const JobId next = t.running({{2}});
  FabricView v = view(t.s);
  ASSERT_EQ(v.items.size(), 1u);
  EXPECT_EQ(v.items[0].finding, f);
  EXPECT_EQ(v.items[0].job, next);
  EXPECT_EQ(v.items[0].hurt, died);
  t.tell(JobStarted{died, 2, {{5}, {6}}});
  v = view(t.s);
  EXPECT_FALSE(v.items.at(0).hurt.some()) << "where it was before is not remembered: nobody is named rather than the wrong one";
}

TEST(FabricView, ForgetsALinkThatIsWellAgain) {
  Story t(8);
  const FindingId f = t.find(FindingKind::link_down, NodeId{2}, 2);
  EXPECT_EQ(view(t.s).items.size(), 1u);
  clear_finding(t.s, f, t.now().utc);
  EXPECT_TRUE(view(t.s).items.empty());
}

TEST(FabricView, NamesALeafByItsSwitchWhereAllItsCablesGoToOne) {
  Story t(wired_site());
  const FabricView v = view(t.s);
  EXPECT_EQ(v.leaf_names, (std::vector<std::string>{"sw-a", "sw-b", "sw-c", "leaf 3"}));
  for (const std::string name : {"sw-b", "1", "leaf 1"}) EXPECT_EQ(view(t.s, {name, {}}).leaves.at(0).id, 1u) << name;
  const FabricView last = view(t.s, {"rail1", {}});
  EXPECT_EQ(last.leaves.at(0).id, 3u);
  EXPECT_EQ(last.leaves.at(0).switches.at(0), "rail0");
  EXPECT_EQ(last.leaves.at(0).switches.at(2), "") << "nothing is known of that rail";
}

TEST(FabricView, AnswersALeafWithEveryLinkOfIt) {
  Story t(wired_site());
  t.find(FindingKind::ib_degraded, NodeId{5}, 7);
  const FabricView v = view(t.s, {"sw-b", {}});
  ASSERT_EQ(v.items.size(), 32u);
  EXPECT_EQ(v.items[0].node, NodeId{4});
  EXPECT_EQ(v.items[15].state, LinkState::errors);
  EXPECT_EQ(v.left_out, 0u);
}

TEST(FabricView, RefusesALeafThatIsNotThereAndNamesTheNearest) {
  Story t(wired_site());
  const auto near = fabric_view(t.s, {"sw-d", {}});
  ASSERT_FALSE(near);
  EXPECT_EQ(near.error().code, Code::not_found);
  EXPECT_NE(near.error().next.find("sw-"), std::string::npos);
  const auto far = fabric_view(t.s, {"99\x1b", {}});
  ASSERT_FALSE(far);
  EXPECT_EQ(far.error().what.find('\x1b'), std::string::npos);
  EXPECT_NE(far.error().next.find("from 0 to 3"), std::string::npos) << far.error().next;
}

TEST(FabricView, PredictsWhatJobsMaySendUpAndCountsThoseThatStayBelowALeafAsNothing) {
  Site site = small_site(16);
  site.link_gbps = 400;
  site.oversubscription = 2;
  Story t(site);
  t.running({{0}, {1}});                          // below one leaf
  const JobId wide = t.running({{2}, {3}, {4}});  // two nodes on leaf 0, one on leaf 1
  const FabricView v = view(t.s);
  EXPECT_DOUBLE_EQ(v.leaves[0].load.capacity_gbps, 4 * 8 * 400.0 / 2);
  EXPECT_DOUBLE_EQ(v.leaves[0].load.worst_case_gbps, 16 * 400.0);
  EXPECT_DOUBLE_EQ(v.leaves[0].load.ring_gbps, 8 * 400.0) << "one ring a rail";
  EXPECT_DOUBLE_EQ(v.leaves[1].load.worst_case_gbps, 8 * 400.0);
  EXPECT_EQ(v.leaves[0].load.jobs, 1u);
  EXPECT_DOUBLE_EQ(v.leaves[2].load.worst_case_gbps, 0);
  const FabricView of_job = view(t.s, {"", {wide}});
  ASSERT_TRUE(of_job.job);
  EXPECT_EQ(of_job.job->links, 24u);
  EXPECT_EQ(of_job.job->leaves, 2u);
  EXPECT_EQ(of_job.job->bottleneck, 0u);
  EXPECT_NE(of_job.job->words.find("not measured"), std::string::npos);
}

TEST(FabricView, AnswersAJobWithTheLinksItUsesAndWhichAreBad) {
  Story t(16);
  const JobId job = t.running({{3}, {8}});
  t.find(FindingKind::link_flap, NodeId{8}, 1);
  t.find(FindingKind::link_down, NodeId{9}, 1);
  const FabricView v = view(t.s, {"", {job}});
  ASSERT_EQ(v.items.size(), 16u);
  ASSERT_EQ(v.leaves.size(), 2u);
  EXPECT_EQ(v.leaves[1].asked_links, 8u);
  EXPECT_EQ(v.job->bad_links, 1u);
  EXPECT_TRUE(v.job->crosses_leaves);
  EXPECT_TRUE(v.job->crosses_pods);
  EXPECT_EQ(view(t.s, {"leaf 2", {job}}).items.size(), 8u) << "of a leaf and a job: what both have";
}

TEST(FabricView, SaysThatAJobWithoutGpusUsesNoLink) {
  Story t(8);
  const JobId job = t.submit(2);
  const FabricView v = view(t.s, {"", {job}});
  EXPECT_TRUE(v.items.empty());
  EXPECT_TRUE(v.leaves.empty());
  EXPECT_NE(v.job->words.find("uses no link"), std::string::npos);
}

TEST(FabricView, AWholeSwitchThatFailsIsBoundedAndCounted) {
  Story t(small_site(80, 80));
  for (std::uint32_t n = 0; n < 80; ++n) {
    for (std::int16_t slot = 0; slot < 8; ++slot) t.find(FindingKind::link_down, NodeId{n}, slot);
  }
  const FabricView v = view(t.s);
  EXPECT_EQ(v.items.size(), kBadLinksMax);
  EXPECT_EQ(v.left_out, 640 - kBadLinksMax);
  EXPECT_EQ(count(v.leaves.at(0).links, LinkState::down), 640u);
}

}  // namespace
}  // namespace muster::report
