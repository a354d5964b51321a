#include "report/fabric_topology.h"

#include <gtest/gtest.h>

#include "design/fabrics.h"
#include "ingest/ib_net.h"

namespace muster::report {
namespace {

std::string conf(const Fabric& f) { return render_topology_conf(slurm_switches(fabric_topology(f).value())); }

// The link that leaves a switch by a port.
std::uint32_t link_of(const Fabric& f, std::string_view name, std::size_t port) {
  for (std::uint32_t i = 0; i < f.nodes.size(); ++i) {
    if (f.nodes[i].name == name) return f.out(i, port);
  }
  return Fabric::kNoLink;
}

TEST(FabricTopology, RailsOfAUnitAreOneLeafAndAllSpinesOne) {
  const Fabric f = design::build_fabric({.kind = design::FabricKind::rail, .nodes = 12, .nics = 4, .radix = 16}).value();
  EXPECT_EQ(conf(f),
            "SwitchName=leaf-u00-r0 Nodes=node[00000-00007]\n"
            "SwitchName=leaf-u01-r0 Nodes=node[00008-00011]\n"
            "SwitchName=spine-000 Switches=leaf-u00-r0,leaf-u01-r0\n");
}

TEST(FabricTopology, PodsStandBelowTheCores) {
  const Fabric f = design::build_fabric({.nodes = 24, .nics = 1, .radix = 8, .levels = 3}).value();
  EXPECT_EQ(conf(f),
            "SwitchName=leaf-0000 Nodes=node[00000-00003]\n"
            "SwitchName=leaf-0001 Nodes=node[00004-00007]\n"
            "SwitchName=leaf-0002 Nodes=node[00008-00011]\n"
            "SwitchName=leaf-0003 Nodes=node[00012-00015]\n"
            "SwitchName=leaf-0004 Nodes=node[00016-00019]\n"
            "SwitchName=leaf-0005 Nodes=node[00020-00023]\n"
            "SwitchName=spine-p00-00 Switches=leaf-[0000-0003]\n"
            "SwitchName=spine-p01-00 Switches=leaf-[0004-0005]\n"
            "SwitchName=core-00-00 Switches=spine-p00-00,spine-p01-00\n");
}

TEST(FabricTopology, AMissingCableChangesNothing) {
  Fabric f = design::build_fabric({.kind = design::FabricKind::rail, .nodes = 12, .nics = 4, .radix = 16}).value();
  const std::string whole = conf(f);
  f.cut(link_of(f, "leaf-u00-r2", 3));   // a card of one rail
  f.cut(link_of(f, "leaf-u01-r0", 9));   // an uplink
  f.cut(link_of(f, "leaf-u01-r0", 10));  // and another
  EXPECT_EQ(conf(f), whole);
}

TEST(FabricTopology, AStorageServerOnASpineMakesItNoLeaf) {
  Fabric f = design::build_fabric({.nodes = 32, .nics = 1, .radix = 16}).value();  // four leaves of eight, two spines
  const auto plug_in = [&](const char* name, std::string_view at, std::uint16_t port) {
    std::uint32_t node = 0;
    while (f.nodes[node].name != at) ++node;
    const std::uint32_t e = f.add({name, 7000U + static_cast<unsigned>(f.nodes.size()), false, {}});
    f.connect(node, port, e, 1, 50);
  };
  plug_in("store1 mlx5_0", "spine-000", 20);
  plug_in("store2 mlx5_0", "spine-001", 20);
  plug_in("node00003 mlx5_9", "spine-001", 21);  // has a leaf already
  const auto t = fabric_topology(f);
  ASSERT_TRUE(t) << t.error().what;
  EXPECT_FALSE(t->joined);
  EXPECT_EQ(t->nodes_on_spines, (std::vector<std::string>{"store1", "store2"}));
  EXPECT_EQ(render_topology_conf(slurm_switches(*t)),
            "SwitchName=leaf-0000 Nodes=node[00000-00007]\n"
            "SwitchName=leaf-0001 Nodes=node[00008-00015]\n"
            "SwitchName=leaf-0002 Nodes=node[00016-00023]\n"
            "SwitchName=leaf-0003 Nodes=node[00024-00031]\n"
            "SwitchName=spine-000-hosts Nodes=store1\n"
            "SwitchName=spine-001-hosts Nodes=store2\n"
            "SwitchName=spine-000 Switches=leaf-[0000-0003],spine-000-hosts,spine-001-hosts\n");
  // A leaf with one node is one all the same, and so are the switches of a group that is nearly empty.
  EXPECT_TRUE(fabric_topology(design::build_fabric({.nodes = 25, .nics = 1, .radix = 16}).value())->nodes_on_spines.empty());
  const auto group = design::build_fabric({.kind = design::FabricKind::dragonfly, .nodes = 19, .nics = 1, .radix = 11}).value();
  EXPECT_TRUE(fabric_topology(group)->nodes_on_spines.empty());
}

TEST(FabricTopology, WhatNothingJoinsIsJoinedForSlurm) {
  const Fabric f = design::build_fabric({.kind = design::FabricKind::dragonfly, .nodes = 8, .nics = 1, .radix = 8}).value();
  const auto t = fabric_topology(f);
  ASSERT_TRUE(t);
  EXPECT_TRUE(t->joined);
  EXPECT_EQ(t->switches.back().name, "fabric");
  EXPECT_EQ(t->switches.back().below.size(), t->switches.size() - 1);
}

TEST(FabricTopology, ANodeAcrossLeavesIsUnderTheFirst) {
  const Fabric f = design::build_fabric({.nodes = 6, .nics = 3, .radix = 8}).value();  // leaves of four cards
  const auto t = fabric_topology(f);
  ASSERT_TRUE(t);
  EXPECT_EQ(t->torn_nodes, 2U);
  EXPECT_EQ(render_topology_conf(slurm_switches(*t)),
            "SwitchName=leaf-0000 Nodes=node[00000-00001]\n"
            "SwitchName=leaf-0001 Nodes=node00002\n"
            "SwitchName=leaf-0002 Nodes=node00003\n"
            "SwitchName=leaf-0003 Nodes=node[00004-00005]\n"
            "SwitchName=spine-000 Switches=leaf-[0000-0003]\n");
}

// A second network whose leaf has no node that another leaf has not: neither it nor its spine is a line, since Slurm refuses a
// switch without nodes and switches.
TEST(FabricTopology, ASwitchAboveLeavesWithoutNodesIsLeftOut) {
  Fabric f;
  std::uint64_t guid = 1;
  const auto add = [&](const char* name, bool is_switch) { return f.add({name, guid++, is_switch, {}}); };
  const std::uint32_t a = add("leaf-a", true), b = add("leaf-b", true), c = add("leaf-c", true);
  const std::uint32_t spine = add("spine", true), other = add("other", true);
  std::uint16_t port = 1;
  for (const char* card : {"n1 mlx5_0", "n2 mlx5_0"}) f.connect(add(card, false), 1, a, port++, 50);
  for (const char* card : {"n3 mlx5_0", "n4 mlx5_0"}) f.connect(add(card, false), 1, b, port++, 50);
  for (const char* card : {"n1 mlx5_1", "n3 mlx5_1"}) f.connect(add(card, false), 1, c, port++, 50);
  f.connect(a, 9, spine, 1, 50);
  f.connect(b, 9, spine, 2, 50);
  f.connect(c, 9, other, 1, 50);
  const std::string text = conf(f);
  EXPECT_EQ(text.find("leaf-c"), std::string::npos) << text;
  EXPECT_EQ(text.find("other"), std::string::npos) << text;
  EXPECT_NE(text.find("SwitchName=spine Switches=leaf-"), std::string::npos) << text;
}

// As managed switches and their aggregation ports describe themselves; two switches have one name.
TEST(FabricTopology, DescriptionsOfRealSwitchesGiveNames) {
  const char* const net =
      "Switch\t64 \"S-0000000000000010\"\t\t# \"MF0;leaf-a:MQM9700/U1\" enhanced port 0 lid 1 lmc 0\n"
      "[1]\t\"H-0000000000000001\"[1](2)\t\t# \"n1 mlx5_0\" lid 2 4xNDR\n"
      "[2]\t\"H-0000000000000003\"[1](4)\t\t# \"n2 mlx5_0\" lid 3 4xNDR\n"
      "[3]\t\"S-0000000000000020\"[1]\t\t# \"top\" lid 4 4xNDR\n"
      "[65]\t\"H-0000000000000005\"[1](6)\t\t# \"Mellanox Technologies Aggregation Node\" lid 5 4xNDR\n"
      "\n"
      "Switch\t64 \"S-0000000000000011\"\t\t# \"MF0;leaf-a:MQM9700/U1\" enhanced port 0 lid 6 lmc 0\n"
      "[1]\t\"H-0000000000000007\"[1](8)\t\t# \"n3 mlx5_0\" lid 7 4xNDR\n"
      "[3]\t\"S-0000000000000020\"[2]\t\t# \"top\" lid 4 4xNDR\n"
      "\n"
      "Switch\t64 \"S-0000000000000020\"\t\t# \"top\" base port 0 lid 4 lmc 0\n"
      "\n"
      "Ca\t1 \"H-0000000000000001\"\t\t# \"n1 mlx5_0\"\n[1](2)\t\"S-0000000000000010\"[1]\t\t# lid 2 lmc 0 \"x\" lid 1 4xNDR\n\n"
      "Ca\t1 \"H-0000000000000003\"\t\t# \"n2 mlx5_0\"\n[1](4)\t\"S-0000000000000010\"[2]\t\t# lid 3 lmc 0 \"x\" lid 1 4xNDR\n\n"
      "Ca\t1 \"H-0000000000000005\"\t\t# \"Mellanox Technologies Aggregation Node\"\n"
      "[1](6)\t\"S-0000000000000010\"[65]\t\t# lid 5 lmc 0 \"x\" lid 1 4xNDR\n\n"
      "Ca\t1 \"H-0000000000000007\"\t\t# \"n3 mlx5_0\"\n[1](8)\t\"S-0000000000000011\"[1]\t\t# lid 7 lmc 0 \"x\" lid 6 4xNDR\n";
  const auto f = parse_ib_net(net, "found.net");
  ASSERT_TRUE(f) << f.error().what;
  const auto t = fabric_topology(*f);
  ASSERT_TRUE(t) << t.error().what;
  EXPECT_EQ(t->unnamed_cards, 1U);
  EXPECT_EQ(render_topology_conf(slurm_switches(*t)),
            "SwitchName=S-0000000000000010 Nodes=n[1-2]\n"
            "SwitchName=S-0000000000000011 Nodes=n3\n"
            "SwitchName=top Switches=S-[0000000000000010-0000000000000011]\n");
}

TEST(FabricTopology, LabelsNameTheSwitchesFromTheNodeUp) {
  const Fabric f = design::build_fabric({.nodes = 24, .nics = 1, .radix = 8, .levels = 3}).value();
  const std::string text = render_node_labels(fabric_topology(f).value(), 18);
  EXPECT_TRUE(
      text.starts_with("---\napiVersion: v1\nkind: Node\nmetadata:\n  name: \"node00000\"\n  labels:\n"
                       "    accelerator.topograph.run/domain: nvlink0001\n"
                       "    network.topology.nvidia.com/accelerator: nvlink0001\n"
                       "    fabric.topograph.run/tier-0: \"leaf-0000\"\n    network.topology.nvidia.com/block: \"leaf-0000\"\n"
                       "    fabric.topograph.run/tier-1: \"spine-p00-00\"\n"
                       "    network.topology.nvidia.com/spine: \"spine-p00-00\"\n"
                       "    fabric.topograph.run/tier-2: \"core-00-00\"\n"
                       "    network.topology.nvidia.com/datacenter: \"core-00-00\"\n---\n"))
      << text.substr(0, 900);
  EXPECT_NE(text.find("nvlink0002"), std::string::npos);
}

TEST(FabricTopology, CardsOfNoNodeAreNoTopology) {
  Fabric f = design::build_fabric({.nodes = 2, .nics = 1, .radix = 8}).value();
  for (FabricNode& n : f.nodes) {
    if (!n.is_switch) n.name = "MT4129 ConnectX7   Mellanox Technologies";
  }
  const auto t = fabric_topology(f);
  ASSERT_FALSE(t);
  EXPECT_FALSE(t.error().next.empty());
}

}  // namespace
}  // namespace muster::report
