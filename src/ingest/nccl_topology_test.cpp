#include "ingest/nccl_topology.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

constexpr const char* kTopology =
    "<system version=\"1\">\n"
    "  <cpu numaid=\"0\" arch=\"x86_64\">\n"
    "    <pci busid=\"0000:18:00.0\" class=\"0x060400\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\">\n"
    "      <pci busid=\"0000:1a:00.0\" class=\"0x030200\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\">\n"
    "        <gpu dev=\"3\" sm=\"90\" rank=\"0\" gdr=\"1\"/>\n"
    "      </pci>\n"
    "      <pci busid=\"0000:1c:00.0\" class=\"0x020700\" link_speed=\"32.0 GT/s PCIe\" link_width=\"8\">\n"
    "        <nic><net name=\"mlx5_0\" dev=\"0\" speed=\"400000\" port=\"1\" gdr=\"0\"/></nic>\n"
    "      </pci>\n"
    "    </pci>\n"
    "  </cpu>\n"
    "</system>\n";

TEST(NcclTopology, GpusAndCardsBelowTheirSwitches) {
  ASSERT_TRUE(looks_like_nccl_topology(kTopology));
  const auto t = parse_nccl_topology(kTopology, "topo.xml");
  ASSERT_TRUE(t) << t.error().what;
  ASSERT_EQ(t->gpus.size(), 1U);
  ASSERT_EQ(t->cards.size(), 1U);
  EXPECT_EQ(t->gpus[0].name, "GPU 3");
  EXPECT_EQ(t->gpus[0].switches, std::vector<std::string>{"0000:18:00.0"});
  EXPECT_EQ(t->gpus[0].line, 5U);
  EXPECT_EQ(t->cards[0].switches, t->gpus[0].switches);
  EXPECT_DOUBLE_EQ(t->cards[0].gb_s, 50);
  EXPECT_EQ(t->cards[0].lanes, 8U);
  EXPECT_TRUE(t->gpus[0].gdr);
  EXPECT_FALSE(t->cards[0].gdr);
  EXPECT_FALSE(t->numa_unknown);
}

TEST(NcclTopology, ACardThatSaysNothingOfGpuDirectIsNotWithout) {
  const auto t = parse_nccl_topology(
      "<system version=\"1\"><cpu numaid=\"0\"><nic><net name=\"mlx5_0\" speed=\"400000\"/></nic></cpu></system>", "a.xml");
  ASSERT_TRUE(t) << t.error().what;
  EXPECT_TRUE(t->cards[0].gdr);
}

TEST(NcclTopology, WhatIsBrokenOrEmptySaysWhere) {
  const auto broken = parse_nccl_topology("<system version=\"1\"><cpu numaid=\"0\">", "a.xml");
  ASSERT_FALSE(broken);
  EXPECT_TRUE(broken.error().what.starts_with("a.xml: line 1")) << broken.error().what;
  const auto empty = parse_nccl_topology("<system version=\"1\"><cpu numaid=\"-1\"/></system>", "a.xml");
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().code, Code::bad_input);
}

TEST(NcclTopology, GraphsAsNcclSearchedThem) {
  const auto g = parse_nccl_graph(
      "<graphs version=\"1\">\n"
      "  <graph id=\"0\" pattern=\"4\" crossnic=\"0\" nchannels=\"8\" speedintra=\"40\" speedinter=\"20\" typeintra=\"NVL\" "
      "typeinter=\"PXB\"/>\n"
      "</graphs>\n",
      "graph.xml");
  ASSERT_TRUE(g) << g.error().what;
  ASSERT_EQ(g->size(), 1U);
  EXPECT_EQ((*g)[0].channels, 8U);
  EXPECT_EQ((*g)[0].type_inter, "PXB");
  EXPECT_EQ((*g)[0].line, 2U);
}

TEST(NcclTopology, TheMatrixOfNvidiaSmi) {
  constexpr const char* kMatrix =
      "        GPU0    GPU1    NIC0    NIC1    CPU Affinity    NUMA Affinity\n"
      "GPU0     X      NV18    PIX     SYS     0-47    0\n"
      "GPU1    NV18     X      SYS     SYS     0-47    0\n"
      "NIC0    PIX     SYS      X      SYS\n";
  ASSERT_TRUE(looks_like_gpu_matrix(kMatrix));
  const auto m = parse_gpu_matrix(kMatrix, "topo.txt");
  ASSERT_TRUE(m) << m.error().what;
  EXPECT_EQ(m->gpus.size(), 2U);
  EXPECT_EQ(m->cards.size(), 2U);
  EXPECT_EQ(m->to_cards[0], (std::vector<std::string>{"PIX", "SYS"}));
  EXPECT_EQ(m->to_gpus[1][0], "NV18");
  EXPECT_FALSE(parse_gpu_matrix("nothing of it\n", "x"));
}

}  // namespace
}  // namespace muster
