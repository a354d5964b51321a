#include "ingest/cables.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <chrono>

#include "ingest/cluster_file.h"
#include "model/codec.h"
#include "model/event.h"

namespace muster {
namespace {

constexpr std::string_view kNodes = "gpus_per_node: 4\nnodes: 8\nname_format: gpu##\n";

Result<Site> parse(std::string_view cables, const std::map<std::string, std::string>& files = {}) {
  return parse_cluster(std::string(kNodes) + std::string(cables), "site/c.yaml",
                       [&](const std::string& path) -> Result<std::string> {
                         const auto it = files.find(path);
                         if (it == files.end()) return fail(Code::not_found, "cannot read " + path + ": no such file");
                         return it->second;
                       });
}
Result<Site> parse_table(const std::string& csv) { return parse("cables: plan.csv\n", {{"site/plan.csv", csv}}); }
std::string error(const Result<Site>& s) { return s ? "accepted" : s.error().what; }
std::string say(const Result<Site>& s, std::uint32_t node, std::int16_t slot) {
  if (!s) return s.error().what;
  const auto c = s->cables.at(NodeId{node}, slot);
  return c ? say_far_end(c->switch_name, c->port, c->label).substr(2) : "";
}

TEST(Cables, AreListedInTheClusterFile) {
  const auto s = parse(
      "cables:\n"
      "  - {node: gpu02, nic: 3, switch: leaf03, port: 17, cable: C-00412}\n"
      "  - {node: gpu01, nic: mlx5_0, switch: leaf03, port: 1/2}\n");
  EXPECT_EQ(say(s, 1, 3), "cable C-00412 to port 17 of leaf03");
  EXPECT_EQ(say(s, 0, 0), "cable to port 1/2 of leaf03");
  EXPECT_EQ(say(s, 0, 1), "");
}

TEST(Cables, AreReadFromATableOfTheCablingPlan) {
  const auto s = parse_table(
      "\xEF\xBB\xBF# of May\r\n\r\n"
      "port, Switch ,length_m,NIC,node,cable\r\n"
      "17,leaf03,5,3,gpu02,\"C-4, blue\"\r\n"
      ",,,,,\r\n"
      " 1 ,leaf04,5,mlx5_0,gpu01,\r\n");
  EXPECT_EQ(say(s, 1, 3), "cable C-4, blue to port 17 of leaf03");
  EXPECT_EQ(say(s, 0, 0), "cable to port 1 of leaf04");
  EXPECT_EQ(say(parse_table("node,nic,switch,port\ngpu08,0,l,1\n"), 7, 0), "cable to port 1 of l");
}

TEST(Cables, TablesAndListedOnesGoTogether) {
  const auto s =
      parse("cables:\n  - a.csv\n  - /plans/b.csv\n  - {node: gpu03, nic: 0, switch: l, port: 3}\n",
            {{"site/a.csv", "node,nic,switch,port\ngpu01,0,l,1\n"}, {"/plans/b.csv", "node,nic,switch,port\ngpu02,0,l,2\n"}});
  EXPECT_EQ(say(s, 0, 0), "cable to port 1 of l");
  EXPECT_EQ(say(s, 1, 0), "cable to port 2 of l");
  EXPECT_EQ(say(s, 2, 0), "cable to port 3 of l");
}

TEST(Cables, OfNicsThatBelongToNoGpuAreCheckedAndLeftAside) {
  const auto s = parse_table("node,nic,switch,port\ngpu01,mlx5_4,store,1\ngpu01,eth0,mgmt,1\ngpu01,mlx5_1,leaf,1\n");
  ASSERT_TRUE(s) << s.error().what;
  EXPECT_EQ(s->cables.table().nics.size(), 1U);
  EXPECT_EQ(error(parse_table("node,nic,switch,port\ngpu01,0,l,1\ngpu01,eth0,mgmt,1\ngpu01,eth0,mgmt,2\n")),
            "site/plan.csv:4: eth0 of gpu01 has a cable already, at site/plan.csv:3");
  EXPECT_EQ(error(parse_table("node,nic,switch,port\ngpu01,ib0,l,1\ngpu02,ib0,l,2\n")),
            "site/plan.csv:1: none of its 2 cables is of a GPU's NIC");
}

TEST(Cables, TablesAreReadAsSpreadsheetsWriteThem) {
  for (const char* csv :
       {"node;nic;switch;port;cable\r\ngpu01;0;leaf,a;17;C-1\r\n", "sep=;\r\nnode;nic;switch;port;cable\ngpu01;0;leaf,a;17;C-1\n",
        "\xEF\xBB\xBFSEP=;\nnode;nic;switch;port;cable\ngpu01;0;leaf,a;17;C-1\n",
        "sep=,\nnode,nic,switch,port,cable\ngpu01,0,\"leaf,a\",17,C-1\n",
        "node\tnic\tswitch\tport\tcable\ngpu01\t0\tleaf,a\t17\tC-1\n"})
    EXPECT_EQ(say(parse_table(csv), 0, 0), "cable C-1 to port 17 of leaf,a") << csv;
  EXPECT_EQ(say(parse_table("node,nic,switch,port,notes; of May\ngpu01,0,l,1,a;b\n"), 0, 0), "cable to port 1 of l");
  EXPECT_EQ(say(parse_table("Node,NIC,Switch,Port,Cable ID,Cables\ngpu01,MLX5_3,l,1,7,8\n"), 0, 3), "cable to port 1 of l");
  EXPECT_EQ(error(parse_table("node,nic,switch,port\ngpu01,0,l,1\ngpu01,eth0,m,1\ngpu01,ETH0,m,2\n")),
            "site/plan.csv:4: eth0 of gpu01 has a cable already, at site/plan.csv:3");
}

TEST(Cables, AreCountedWithThoseOfNoGpu) {
  CableCounts counts;
  const auto s = parse_cluster(
      std::string(kNodes) + "cables: c.csv\n", "c.yaml",
      [](const std::string&) -> Result<std::string> {
        return "node,nic,switch,port\ngpu01,0,l,1\ngpu01,eth0,m,1\ngpu02,1,l,2\n";
      },
      &counts);
  ASSERT_TRUE(s) << s.error().what;
  EXPECT_EQ(counts.read, 3U);
  EXPECT_EQ(counts.of_no_gpu, 1U);
}

TEST(Cables, WhatIsWrongIsRefusedWithFileAndLine) {
  const std::string head = "node,nic,switch,port,cable\ngpu01,0,l,1,C1\n";
  const std::pair<std::string, std::string> wrong[] = {
      {"gpu99,0,l,2,C2", "site/plan.csv:3: no node is called \"gpu99\""},
      {"gpu01,4,l,2,C2", "site/plan.csv:3: nic is \"4\", and a node has NICs 0 to 3"},
      {"gpu01,99999999999999999999,l,2,C2", "site/plan.csv:3: nic is \"99999999999999999999\", and a node has NICs 0 to 3"},
      {"gpu01,mlx5_0,l,2,C2", "site/plan.csv:3: NIC 0 of gpu01 has a cable already, at site/plan.csv:2"},
      {"gpu01,1,l,1,C2", "site/plan.csv:3: port 1 of l has a cable already, at site/plan.csv:2"},
      {"gpu01,1,,1,C2", "site/plan.csv:3: switch is empty"},
      {"gpu01,1,l,,C2", "site/plan.csv:3: port is empty"},
      {"gpu01,1,l,2", "site/plan.csv:3: 4 cells, the header has 5"},
      {"gpu01,1,l,2,\"C2", "site/plan.csv:3: a quote is not closed"},
      {"gpu01,1,l\x1b[31m,2,C2", "site/plan.csv:3: switch has characters that cannot be shown: \"l\\x1b[31m\""},
      {"gpu01,1,l,2," + std::string(64, 'x'), "site/plan.csv:3: cable must be 1 to 63 bytes of text, is 64"}};
  for (const auto& [row, reason] : wrong) EXPECT_EQ(error(parse_table(head + row + "\n")), reason);
  EXPECT_EQ(error(parse_table("")), "site/plan.csv:1: no header line");
  EXPECT_EQ(error(parse_table("node,nic,switch\n")), "site/plan.csv:1: no column is called port");
  EXPECT_EQ(error(parse_table("node,nic,swich,port\n")), "site/plan.csv:1: no column is called switch; is it \"swich\"?");
  EXPECT_EQ(error(parse_table("node,nic,switch,port\n\n")), "site/plan.csv:1: no cable in it");
  EXPECT_EQ(error(parse_table("node,nic,switch,port\ngpu01.cluster.local,0,l,1\n")),
            "site/plan.csv:2: no node is called \"gpu01.cluster.local\"; is it \"gpu01\"?");
  EXPECT_EQ(error(parse_table("node,nic,switch,port\ngpu99.cluster.local,0,l,1\n")),
            "site/plan.csv:2: no node is called \"gpu99.cluster.local\"");
  const std::string wide = "node,nic,switch,port\n";
  std::string utf16 = "\xff\xfe", bare;
  for (const char c : wide) utf16 += c, utf16 += '\0', bare += '\0', bare += c;
  EXPECT_EQ(error(parse_table(utf16)), "site/plan.csv:1: it is in UTF-16");
  EXPECT_EQ(error(parse_table(bare)), "site/plan.csv:1: it is in UTF-16");
  EXPECT_EQ(error(parse_table("node,nic,switch,port,nic\n")), "site/plan.csv:1: two columns are called nic");
}

TEST(Cables, WhatIsWrongInTheClusterFileItselfIsRefusedThere) {
  EXPECT_EQ(error(parse("cables: no.csv\n")), "site/c.yaml:4: cables: cannot read site/no.csv: no such file");
  EXPECT_EQ(error(parse("cables: 7\n")), "site/c.yaml:4: cables must be a file (CSV) or a list, is a whole number");
  EXPECT_EQ(error(parse("cables:\n  - {node: gpu01, nic: 0, switch: l}\n")), "site/c.yaml:5: cables[].port is missing");
  EXPECT_EQ(error(parse("cables:\n  - {node: gpu01, nic: 0, swich: l, port: 1}\n")).substr(0, 15), "site/c.yaml:5: ");
  EXPECT_EQ(error(parse("cables:\n  - {node: gpu01, nic: 4, switch: l, port: 1}\n")),
            "site/c.yaml:5: nic is \"4\", and a node has NICs 0 to 3");
  EXPECT_EQ(error(parse("cables:\n  - a.csv\n  - {node: gpu01, nic: 1, switch: l, port: 1}\n",
                        {{"site/a.csv", "node,nic,switch,port\ngpu01,0,l,1\n"}})),
            "site/c.yaml:6: port 1 of l has a cable already, at site/a.csv:2");
  const auto s = parse_cluster(std::string(kNodes) + "cables: a.csv\n", "c.yaml");
  EXPECT_EQ(error(s), "c.yaml:4: cables are in \"a.csv\", and no file can be read here");
}

TEST(Cables, AHundredThousandLoadAtOnceAndStaySmall) {
  std::string csv = "node,nic,switch,port,cable\n";
  for (int n = 1; n <= 13'000; ++n) {
    for (int i = 0; i < 8; ++i)
      csv += fmt::format("node{:05},{},leaf{:04},{},C-{:06}\n", n, i, (n - 1) / 32 * 8 + i, (n - 1) % 32 + 1, n * 8 + i);
  }
  const auto began = std::chrono::steady_clock::now();
  const auto s = parse_cluster("nodes: 13000\nname_format: node#####\ncables: c.csv\n", "c.yaml",
                               [&](const std::string&) -> Result<std::string> { return csv; });
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  ASSERT_TRUE(s) << s.error().what;
  EXPECT_EQ(s->cables.table().nics.size(), 104'000U);
  EXPECT_EQ(say(s, 12'999, 7), "cable C-104007 to port 8 of leaf3255");
  const std::string event = encode_body(CablesDeclared{s->cables});
  EXPECT_LT(event.size(), 104'000U * 40) << "what a journal and each snapshot hold of it";
  RecordProperty("load_ms", static_cast<int>(took.count() * 1000));
  EXPECT_LT(took.count(), 5) << "a bound for slow machines and sanitizers: it takes a fraction of a second";
}

}  // namespace
}  // namespace muster
