#include "detect/fabric_said.h"

#include <gtest/gtest.h>

#include "detect/watch.h"

namespace muster::detect {
namespace {

using Kind = FabricFaultKind;

// 16 nodes in leaves of four.
class FabricSaidTest : public ::testing::Test {
 protected:
  void say(std::vector<FabricTold> faults, bool complete = true) {
    w.event(FabricSaid{complete, std::move(faults)});
    w.look();
  }
  void say_of(const std::string& network, std::vector<FabricTold> faults) {
    w.event(FabricSaid{true, std::move(faults), 0, 0, network});
    w.look();
  }
  std::vector<std::string> subjects() const {
    std::vector<std::string> out;
    for (const Finding* f : open()) out.push_back(f->subject);
    return out;
  }
  std::vector<const Finding*> open() const {
    std::vector<const Finding*> out;
    for (const auto& [id, f] : w.t.s.findings) {
      if (f.kind == FindingKind::fabric_fault && f.cleared.ns == 0) out.push_back(&f);
    }
    return out;
  }
  static std::vector<NodeId> leaf(std::uint32_t number) {
    std::vector<NodeId> out;
    for (std::uint32_t i = 0; i < 4; ++i) out.push_back(NodeId{4 * number + i});
    return out;
  }
  static FabricTold uplink(std::uint32_t of, const std::string& detail = "both ports are empty") {
    return {Kind::missing_cable, {"leaf" + std::to_string(of) + "[17]", "spine0[3]"}, detail, 0.95, leaf(of)};
  }
  Watch w{16};
};

TEST_F(FabricSaidTest, AFaultIsAFindingUntilItIsToldNoMore) {
  say({uplink(2)});
  ASSERT_EQ(open().size(), 1U);
  const Finding& f = *open()[0];
  EXPECT_EQ(f.subject, "missing_cable leaf2[17] - spine0[3]");
  EXPECT_FALSE(f.node.some());
  EXPECT_EQ(f.slot, 2) << "the leaf";
  EXPECT_EQ(f.severity, Severity::warning);
  EXPECT_EQ(f.code, 95);
  EXPECT_DOUBLE_EQ(confidence(f), 0.95);
  EXPECT_EQ(f.evidence.front().text, "both ports are empty");
  EXPECT_EQ(w.t.s.suspect_leaves.count(2), 1U);
  say({uplink(2, "both ports are still empty"), uplink(3)});
  EXPECT_EQ(open().size(), 2U) << "told again it is the same one";
  say({uplink(3)});
  ASSERT_EQ(open().size(), 1U);
  EXPECT_EQ(open()[0]->slot, 3);
  EXPECT_EQ(w.t.s.suspect_leaves.count(2), 0U);
  say({});
  EXPECT_TRUE(open().empty());
  EXPECT_TRUE(w.t.s.suspect_leaves.empty());
}

TEST_F(FabricSaidTest, NothingIsOverWhileAnswersAreLost) {
  say({uplink(2)});
  say({{Kind::incomplete_discovery, {"leaf1"}, "12 devices did not say their names", 0.95, {}}}, false);
  EXPECT_EQ(open().size(), 2U);
  say({{Kind::incomplete_discovery, {"leaf3", "spine0"}, "others did not", 0.95, {}}}, false);
  EXPECT_EQ(open().size(), 2U) << "that answers are lost is one fault, whoever does not answer";
  say({uplink(2)});
  ASSERT_EQ(open().size(), 1U);
  EXPECT_EQ(open()[0]->slot, 2);
}

TEST_F(FabricSaidTest, AReadingThatIsAPartIsOneFindingOfTheSite) {
  std::vector<NodeId> all;
  for (std::uint32_t l = 0; l < 4; ++l) {
    for (const NodeId n : leaf(l)) all.push_back(n);
  }
  for (const Kind k : {Kind::incomplete_discovery, Kind::routing_fallback}) {
    say({{k, {"n5 mlx5_0[1]", "leaf1"}, "answers were lost", 0.95, all}});
    ASSERT_EQ(open().size(), 1U);
    EXPECT_FALSE(open()[0]->node.some());
    EXPECT_EQ(open()[0]->slot, -1);
  }
}

TEST_F(FabricSaidTest, WhatToDoIsInItsEvidence) {
  FabricTold told = uplink(2);
  told.fix = "plug the cable into leaf2[17]";
  say({told});
  ASSERT_EQ(open().size(), 1U);
  EXPECT_EQ(open()[0]->evidence.front().text, "both ports are empty; do: plug the cable into leaf2[17]");
}

TEST_F(FabricSaidTest, TheOrderOfItsEndsMakesNoOtherFault) {
  say({{Kind::error_rate, {"leaf1[2]", "spine0[1]"}, "12 a second", 0.9, leaf(1)}});
  say({{Kind::error_rate, {"spine0[1]", "leaf1[2]"}, "13 a second", 0.9, leaf(1)}});
  EXPECT_EQ(open().size(), 1U);
  EXPECT_EQ(w.findings(), 1U);
}

TEST_F(FabricSaidTest, OneNodesOwnCableIsThatNodes) {
  say({{Kind::missing_cable, {"n5 mlx5_0[1]", "leaf1[2]"}, "both ports are empty", 0.95, {NodeId{5}}},
       {Kind::dead_host, {"n6", "leaf1[3]"}, "none of its cards is seen", 0.9, {NodeId{6}}}});
  ASSERT_EQ(open().size(), 2U);
  EXPECT_EQ(open()[0]->node, NodeId{5});
  EXPECT_EQ(open()[0]->slot, -1);
  EXPECT_EQ(open()[1]->node, NodeId{6});
  EXPECT_TRUE(w.t.s.suspect_leaves.empty()) << "its neighbours have nothing to do with it";
}

TEST_F(FabricSaidTest, EachLeafThatIsTouchedHasItsOwn) {
  auto both = leaf(0);
  for (const NodeId n : leaf(3)) both.push_back(n);
  both.push_back(NodeId{5});  // one of another leaf: it is cabled otherwise than the cluster file says
  say({{Kind::dead_switch, {"leaf0"}, "it does not answer", 0.9, both}});
  ASSERT_EQ(open().size(), 2U);
  EXPECT_EQ(open()[0]->slot, 0);
  EXPECT_EQ(open()[1]->slot, 3);
  EXPECT_EQ(open()[0]->severity, Severity::critical) << "its nodes are cut off";
  say({{Kind::dead_switch, {"spine0"}, "it does not answer", 0.9, {}}});
  ASSERT_EQ(open().size(), 1U);
  EXPECT_EQ(open()[0]->slot, -1) << "a spine is nobody's";
  EXPECT_EQ(open()[0]->severity, Severity::warning);
}

TEST_F(FabricSaidTest, SwappedCablesOfNodesAreThoseNodes) {
  for (const std::uint32_t other : {5U, 8U}) {  // under the same leaf, and under another
    const std::string far = "n" + std::to_string(other) + " mlx5_0[1]";
    const std::vector<NodeId> both = {NodeId{4}, NodeId{other}};
    say({{Kind::swapped_cables, {"n4 mlx5_0[1]", "leaf1[1]", far, "leaf1[2]"}, "changed places", 0.9, both}});
    ASSERT_EQ(open().size(), 2U);
    EXPECT_EQ(open()[0]->node, NodeId{4});
    EXPECT_EQ(open()[1]->node, NodeId{other});
    EXPECT_EQ(open()[0]->slot, -1);
    EXPECT_EQ(open()[0]->subject, open()[1]->subject);
    EXPECT_TRUE(w.t.s.suspect_leaves.empty()) << "the rest of the leaf has nothing to do with it";
  }
  w.restart();
  say({});
  EXPECT_TRUE(open().empty());
  say({{Kind::swapped_cables, {"leaf1[17]", "spine0[1]", "leaf1[18]", "spine1[1]"}, "changed places", 0.9, leaf(1)}});
  ASSERT_EQ(open().size(), 1U) << "between switches it is the leaf's";
  EXPECT_EQ(open()[0]->slot, 1);
  say({{Kind::missing_cable, {"n5 mlx5_0[1]", "leaf1[2]"}, "both ports are empty", 0.95, leaf(1)}});
  ASSERT_EQ(open().size(), 1U) << "whoever else is named with it";
  EXPECT_EQ(open()[0]->node, NodeId{5});
}

TEST_F(FabricSaidTest, AFewNodesOfALeafStandForItWhereMostAreThere) {
  Watch large(16);
  for (NodeSpec& n : large.t.s.site.nodes) n.leaf = n.leaf / 2;
  large.event(FabricSaid{true, {{Kind::dead_switch, {"rail3"}, "it does not answer", 0.9, {NodeId{0}, NodeId{1}, NodeId{9}}}}});
  large.look();
  ASSERT_NE(large.open(FindingKind::fabric_fault), nullptr);
  EXPECT_EQ(large.open(FindingKind::fabric_fault)->slot, 0);
}

TEST_F(FabricSaidTest, AControllerThatStartsAnewKnowsWhatWasTold) {
  say({uplink(2), uplink(3)});
  w.restart();
  say({uplink(2), uplink(3)});
  EXPECT_EQ(w.findings(), 2U);
  w.restart();
  say({uplink(3)});
  ASSERT_EQ(open().size(), 1U);
  EXPECT_EQ(open()[0]->slot, 3);
}

TEST_F(FabricSaidTest, NoNetworksWordEndsWhatStandsInAnother) {
  say_of("rail3", {uplink(2)});
  say_of("rail4", {uplink(2)});
  say({uplink(2)});
  const std::string fault = "missing_cable leaf2[17] - spine0[3]";
  EXPECT_EQ(subjects(), (std::vector<std::string>{"rail3: " + fault, "rail4: " + fault, fault}));
  EXPECT_EQ(w.t.s.suspect_leaves.at(2), 3U) << "each of them costs the leaf bandwidth";
  say_of("rail3", {});
  EXPECT_EQ(subjects(), (std::vector<std::string>{"rail4: " + fault, fault}));
  w.restart();
  say({});
  say_of("rail", {});
  say_of("rail3", {uplink(3)});
  EXPECT_EQ(subjects(), (std::vector<std::string>{"rail4: " + fault, "rail3: missing_cable leaf3[17] - spine0[3]"}));
  say_of("rail4", {});
  say_of("rail3", {});
  EXPECT_TRUE(open().empty());
  EXPECT_TRUE(w.t.s.suspect_leaves.empty());
}

TEST_F(FabricSaidTest, WhatCouldNotBeJudgedIsNotOver) {
  const auto told = [&](bool rates, bool flaps, std::vector<FabricTold> faults = {}) {
    w.event(FabricSaid{true, std::move(faults), 0, 0, {}, rates, flaps});
    w.look();
  };
  told(true, true,
       {uplink(2),
        {Kind::error_rate, {"leaf1[2]", "spine0[1]"}, "12 a second", 0.9, leaf(1)},
        {Kind::flapping_link, {"leaf1[3]", "spine0[2]"}, "went down and came back 3 times", 0.9, leaf(1)}});
  EXPECT_EQ(open().size(), 3U);
  told(false, false);
  EXPECT_EQ(subjects(), (std::vector<std::string>{"error_rate leaf1[2] - spine0[1]", "flapping_link leaf1[3] - spine0[2]"}));
  w.restart();
  told(true, false);
  EXPECT_EQ(subjects(), (std::vector<std::string>{"flapping_link leaf1[3] - spine0[2]"}));
  told(false, true);
  EXPECT_TRUE(open().empty());
}

TEST_F(FabricSaidTest, NodesThatTheSiteDoesNotHaveAreNobody) {
  say({{Kind::missing_cable, {"leaf9[1]", "spine0[1]"}, {}, 0.5, {NodeId{77}, NodeId{}}}});
  ASSERT_EQ(open().size(), 1U);
  EXPECT_EQ(open()[0]->slot, -1);
  EXPECT_EQ(open()[0]->evidence.front().text, open()[0]->subject);
}

TEST(FabricFaultNames, AreBounded) {
  const std::string long_end(150, 'x');
  EXPECT_EQ(name_of_fault(Kind::swapped_cables, {long_end, long_end}).size(), kFaultNameMax);
  EXPECT_EQ(name_of_fault(Kind::incomplete_discovery, {"leaf1"}), "incomplete_discovery");
  EXPECT_EQ(name_of_fault(Kind::dead_switch, {"leaf1"}), "dead_switch leaf1");
}

TEST(FabricFaultNames, AreReadBackFromWhatAFindingIsAbout) {
  for (const std::string fabric : {"", "rail3", "missing_cable", "a.b_c-9"}) {
    EXPECT_TRUE(valid_fabric_name(fabric));
    for (const std::string fault : {"dead_switch leaf1: x", "incomplete_discovery", "error_rate a[1] - b[2]"}) {
      const std::string subject = fault_subject(fabric, fault);
      const FaultSubject what = read_fault_subject(subject);
      EXPECT_EQ(what.fabric, fabric) << subject;
      EXPECT_EQ(what.fault, fault) << subject;
      EXPECT_TRUE(what.kind) << subject;
    }
  }
  for (const char* odd : {"", ":", "rail3:", "rail3: ", "rail3: gremlins", "gremlins leaf1"})
    EXPECT_FALSE(read_fault_subject(odd).kind) << odd;
  for (const std::string& wrong : {std::string("a b"), std::string("a:"), std::string("a/b"), std::string("\xc3\xa4"),
                                   std::string("a\0b", 3), std::string(kFabricNameMax + 1, 'x')})
    EXPECT_FALSE(valid_fabric_name(wrong)) << wrong;
}

}  // namespace
}  // namespace muster::detect
