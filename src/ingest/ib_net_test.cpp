#include "ingest/ib_net.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

constexpr const char* kNet = R"(#
# Topology file: generated on Tue Nov 17 02:13:00 2026
vendid=0x2c9
devid=0xd2f2
switchguid=0x2c90300040100(2c90300040100)
Switch	40 "S-0002c90300040100"		# "leaf-01" enhanced port 0 lid 2 lmc 0
[1]	"H-0002c90300000100"[1](2c90300000101) 		# "gpu01 mlx5_0" lid 1 4xNDR
[2]	"H-0002c90300000200"[1](2c90300000201) 		# "gpu02 mlx5_0" lid 3 2xNDR

vendid=0x2c9
caguid=0x2c90300000100
Ca	1 "H-0002c90300000100"		# "gpu01 mlx5_0"
[1](2c90300000101) 	"S-0002c90300040100"[1]		# lid 1 lmc 0 "leaf-01" lid 2 4xNDR

caguid=0x2c90300000200
Ca	1 "H-0002c90300000200"		# "gpu02 mlx5_0"
[1](2c90300000201) 	"S-0002c90300040100"[2]		# lid 3 lmc 0 "leaf-01" lid 2 2xNDR
)";

constexpr const char* kRoutes = R"(Unicast lids [0x0-0x3] of switch Lid 2 guid 0x0002c90300040100 (leaf-01):
  Lid  Out   Destination
       Port     Info
0x0001 001 : (Channel Adapter portguid 0x0002c90300000101: 'gpu01 mlx5_0')
0x0002 000 : (Switch portguid 0x0002c90300040100: 'leaf-01')
0x0003 002 : (Channel Adapter portguid 0x0002c90300000201: 'gpu02 mlx5_0')
3 valid lids dumped
)";

TEST(IbNet, AFabricIsReadWithItsRates) {
  const auto f = parse_ib_net(kNet, "f.net");
  ASSERT_TRUE(f) << f.error().what;
  ASSERT_EQ(f->nodes.size(), 3U);
  ASSERT_EQ(f->links.size(), 4U);
  const auto e = f->endpoints();
  EXPECT_EQ(f->nodes[e[0]].name, "gpu01 mlx5_0");
  EXPECT_EQ(f->nodes[e[0]].guid, 0x2c90300000101U);
  EXPECT_EQ(f->links[f->nodes[e[0]].out[1]].gb_s, 50);
  EXPECT_EQ(f->links[f->nodes[e[1]].out[1]].gb_s, 25);
}

TEST(IbNet, RatesAreReadBeforeTheDetailsOfTheFullForm) {
  std::string full = kNet;
  for (std::size_t at = full.find("NDR\n"); at != std::string::npos; at = full.find("NDR\n"))
    full.insert(at + 3, " s=4 w=2 v=4 e=8");
  const auto f = parse_ib_net(full, "f.net");
  ASSERT_TRUE(f) << f.error().what;
  const auto e = f->endpoints();
  EXPECT_EQ(f->links[f->nodes[e[0]].out[1]].gb_s, 50);
  EXPECT_EQ(f->links[f->nodes[e[1]].out[1]].gb_s, 25);
}

TEST(IbNet, TablesOfBothTools) {
  const auto t = parse_ib_routes(kRoutes, "lfts");
  ASSERT_TRUE(t) << t.error().what;
  EXPECT_EQ(t->lids.at(0x2c90300000201), 3);
  EXPECT_EQ(t->switches.at(0x2c90300040100)[3], 2);
  const auto opensm = parse_ib_routes(
      "Unicast lids [0-3] of switch Lid 2 guid 0x0002c90300040100 ('leaf-01'):\n"
      "0x0001 001 # Channel Adapter portguid 0x0002c90300000101: 'gpu01 mlx5_0'\n"
      "0x0003 UNREACHABLE\n",
      "lfts");
  ASSERT_TRUE(opensm);
  EXPECT_EQ(opensm->switches.at(0x2c90300040100).size(), 2U);
}

TEST(IbNet, WhatDoesNotFitTogetherIsSaid) {
  std::string other = kNet;
  other.replace(other.find("\"S-0002c90300040100\"[2]\t\t# lid 3"), 23, "\"S-0002c90300040100\"[1]");
  EXPECT_EQ(parse_ib_net(other, "f.net").error().what,
            "f.net:17: H-0002c90300000200[1] is cabled to S-0002c90300040100[1], but that says it is cabled to "
            "H-0002c90300000100[1]");
  EXPECT_EQ(parse_ib_net("hello\n", "f.net").error().what, "f.net: no cable of an InfiniBand fabric is in it");
  EXPECT_EQ(parse_ib_net("[1] \"S-1\"[2]\n", "f.net").error().what, "f.net:1: a port of no node");
  EXPECT_EQ(parse_ib_routes("x\n", "lfts").error().what, "lfts: no forwarding table is in it");
  EXPECT_EQ(parse_ib_routes("0x0001 001\n", "lfts").error().what, "lfts:1: a route of no switch");
}

}  // namespace
}  // namespace muster
