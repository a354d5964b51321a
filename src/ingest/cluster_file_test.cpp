#include "ingest/cluster_file.h"

#include <gtest/gtest.h>

#include <set>

namespace muster {
namespace {

std::string error(std::string_view text) {
  const auto s = parse_cluster(text, "c.yaml");
  return s ? "accepted" : s.error().what;
}

// What every reader of a Site relies on.
void expect_whole(const Site& s) {
  std::set<std::uint32_t> racks, leaves, pods, domains;
  std::set<std::string> names;
  for (const NodeSpec& n : s.nodes) {
    racks.insert(n.rack);
    leaves.insert(n.leaf);
    pods.insert(n.pod);
    domains.insert(n.domain);
    EXPECT_TRUE(names.insert(n.name).second) << n.name;
  }
  EXPECT_EQ(racks.size(), s.racks.size());
  EXPECT_EQ(*racks.rbegin() + 1, s.racks.size());
  EXPECT_EQ(leaves.size(), s.leaves);
  EXPECT_EQ(*leaves.rbegin() + 1, s.leaves);
  EXPECT_EQ(pods.size(), s.pods);
  EXPECT_EQ(*pods.rbegin() + 1, s.pods);
  EXPECT_EQ(domains.size(), s.domains);
  EXPECT_EQ(*domains.rbegin() + 1, s.domains);
  EXPECT_EQ(s.gpu_pci.size(), s.gpus_per_node);
  EXPECT_EQ(std::set<std::string>(s.gpu_pci.begin(), s.gpu_pci.end()).size(), s.gpus_per_node);
  EXPECT_GT(s.storage_write_gbs, 0);
}

TEST(ClusterFile, ReadsACompactOne) {
  const auto s =
      parse_cluster("name: c\ngpu: H100\nnodes: 10\nnodes_per_rack: 4\nnodes_per_leaf: 3\nleaves_per_pod: 2\n", "c.yaml");
  ASSERT_TRUE(s) << s.error().what;
  expect_whole(*s);
  EXPECT_EQ(s->gpus(), 80u);
  EXPECT_EQ(s->racks.size(), 3u);
  EXPECT_EQ(s->leaves, 4u);
  EXPECT_EQ(s->pods, 2u);
  EXPECT_EQ(s->domains, 10u);
  EXPECT_EQ(s->nodes[0].name, "node0001");
  EXPECT_EQ(s->nodes[9].name, "node0010");
  EXPECT_EQ(s->nodes[9].leaf, 3u);
  EXPECT_EQ(s->nodes[9].pod, 1u);
  EXPECT_EQ(s->gpu_pci[0], "0000:1b:00");
}

TEST(ClusterFile, ReadsRaggedGroups) {
  const auto s = parse_cluster(
      "groups:\n  - {nodes: 5, nodes_per_leaf: 4}\n  - {nodes: 2}\n  - {nodes: 3, name_format: big#, nvlink_domain: "
      "rack}\n",
      "c.yaml");
  ASSERT_TRUE(s) << s.error().what;
  expect_whole(*s);
  EXPECT_EQ(s->nodes.size(), 10u);
  EXPECT_EQ(s->nodes[6].name, "node0007");
  EXPECT_EQ(s->nodes[7].name, "big1");
  EXPECT_EQ(s->leaves, 4u);
  EXPECT_EQ(s->domains, 8u);
  EXPECT_EQ(s->nodes[7].domain, s->nodes[9].domain);
}

TEST(ClusterFile, ReadsListedNodes) {
  const auto s = parse_cluster(
      "gpus_per_node: 2\ngpu_pci: [\"0000:01:00\", \"0000:02:00.0\"]\nnodes:\n  - {name: \"gpu[08-11]\", rack: r1, "
      "leaf: l1}\n"
      "  - {name: solo, rack: r2, domain: d}\n  - {name: duo, rack: r2, domain: d}\n",
      "c.yaml");
  ASSERT_TRUE(s) << s.error().what;
  expect_whole(*s);
  EXPECT_EQ(s->nodes[0].name, "gpu08");
  EXPECT_EQ(s->nodes[3].name, "gpu11");
  EXPECT_EQ(s->racks, (std::vector<std::string>{"r1", "r2"}));
  EXPECT_EQ(s->leaves, 2u);
  EXPECT_EQ(s->domains, 5u);
  EXPECT_EQ(s->gpu_pci[1], "0000:02:00");
}

TEST(ClusterFile, PresetsAreWhatTheirNamesSay) {
  const auto h200 = preset_cluster("h200-1024");
  ASSERT_TRUE(h200) << h200.error().what;
  expect_whole(*h200);
  EXPECT_EQ(h200->gpus(), 1024u);
  EXPECT_EQ(h200->leaves, 8u);
  const auto h100 = preset_cluster("h100-16384");
  ASSERT_TRUE(h100) << h100.error().what;
  expect_whole(*h100);
  EXPECT_EQ(h100->gpus(), 16384u);
  const auto gb200 = preset_cluster("gb200-nvl72-1152");
  ASSERT_TRUE(gb200) << gb200.error().what;
  expect_whole(*gb200);
  EXPECT_EQ(gb200->gpus(), 1152u);
  EXPECT_EQ(gb200->domains, 16u);
  EXPECT_EQ(gb200->nodes[17].domain, 0u);
  EXPECT_EQ(gb200->nodes[18].domain, 1u);
  for (const auto& name : preset_cluster_names()) EXPECT_EQ(preset_cluster(name)->name, name);
  EXPECT_EQ(preset_cluster("h200-1023").error().code, Code::not_found);
  EXPECT_NE(preset_cluster("h200-1023").error().next.find("did you mean h200-1024?"), std::string::npos);
  EXPECT_FALSE(preset_cluster("../faults"));
}

TEST(ClusterFile, PlainOnesTakeMultiplesOfEight) {
  for (const std::uint32_t n : {8u, 512u, 1000u, 1024u, 100'000u}) {
    const auto s = plain_cluster(n);
    ASSERT_TRUE(s) << s.error().what;
    expect_whole(*s);
    EXPECT_EQ(s->gpus(), n);
  }
  EXPECT_EQ(plain_cluster(100'000)->nodes.back().name, "node12500");
  for (const std::uint32_t n : {0u, 1u, 7u, 1001u, 0xffffffffu}) {
    ASSERT_FALSE(plain_cluster(n)) << n;
    EXPECT_EQ(plain_cluster(n).error().code, Code::bad_input);
  }
  EXPECT_EQ(plain_cluster(1001).error().next, "try 1000");
}

TEST(ClusterFile, SaysFileLineAndReason) {
  EXPECT_EQ(error("nodes: 8\nnode_per_rack: 4\n"), "c.yaml:2: unknown key \"node_per_rack\"; did you mean nodes_per_rack?");
  EXPECT_EQ(error("name: c\nnodse: 8\n"), "c.yaml:2: unknown key \"nodse\"; did you mean nodes?");
  EXPECT_EQ(error("name: c\n"), "c.yaml:1: give nodes (a number or a list) or groups, and not both");
  EXPECT_EQ(error("nodes: 8\ngroups:\n  - nodes: 3\n"), "c.yaml:3: give nodes (a number or a list) or groups, and not both");
  EXPECT_EQ(error("nodes: 0\n"), "c.yaml:1: nodes must be 1 to 131072, is 0");
  EXPECT_EQ(error("nodes: -3\n"), "c.yaml:1: nodes must be 1 to 131072, is -3");
  EXPECT_EQ(error("nodes: many\n"), "c.yaml:1: nodes must be a whole number, is text");
  EXPECT_EQ(error("nodes: 8\ngpus_per_node: 17\n"), "c.yaml:2: gpus_per_node must be 1 to 16, is 17");
  EXPECT_EQ(error("nodes: 8\n\nnvlink_domain: rak\n"),
            "c.yaml:3: nvlink_domain must be one of node, rack, is \"rak\"; did you mean rack?");
  EXPECT_EQ(error("nodes: 8\nlink_gbps: fast\n"), "c.yaml:2: link_gbps must be a number, is text");
  EXPECT_EQ(error("nodes: 8\nname_format: node\n"),
            "c.yaml:2: name_format must be a host name with one run of # for the number, as node####, is \"node\"");
  EXPECT_EQ(error("nodes: 8\ngpu_pci: [\"0000:1b:00\"]\n"), "c.yaml:2: gpu_pci has 1 addresses, gpus_per_node is 8");
  EXPECT_EQ(error("gpus_per_node: 1\nnodes: 8\ngpu_pci: [1b]\n"), "c.yaml:3: gpu_pci must be PCI addresses as \"0000:1b:00\"");
  EXPECT_EQ(error("nodes:\n  - {name: a}\n  - {name: a}\n"), "c.yaml:1: two nodes have the name \"a\"");
  EXPECT_EQ(error("nodes:\n  - {rack: a}\n"), "c.yaml:2: nodes[].name is missing");
  EXPECT_EQ(error("nodes:\n  - {name: \"<b>\"}\n"), "c.yaml:2: name must be a host name or a range as gpu[001-016], is \"<b>\"");
  EXPECT_EQ(error("nodes:\n  - {name: a, leaf: x, pod: p}\n  - {name: b, leaf: x, pod: q}\n"),
            "c.yaml:3: leaf \"x\" is in two pods");
  EXPECT_EQ(error("nodes: [a]\n"), "c.yaml:1: nodes[] must be a mapping (key: value), is text");
  EXPECT_EQ(error("- 1\n"), "c.yaml:1: the file must be a mapping (key: value), is a list");
  EXPECT_EQ(error("groups:\n  - {nodes: 131072}\n  - {nodes: 1}\n"), "c.yaml:3: more than 131072 nodes");
  EXPECT_EQ(error("nodes:\n  - {name: \"a[1-9999999999]\"}\n").rfind("c.yaml:2: name must be", 0), 0u);
}

}  // namespace
}  // namespace muster
