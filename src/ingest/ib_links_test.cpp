#include "ingest/ib_links.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace muster {
namespace {

// Cut from a fabric of 64 endpoints in which the cable leaf-000[9] to spine-000[1] was taken away.
constexpr std::string_view kLines =
    "0x0002c90300000101 \"                gpu0000 mlx5_0\"      1    1[  ] ==( 4X        53.125 Gbps Active/  LinkUp)==>  "
    "0x0002c90300004100      2    1[  ] \"leaf-000\" (Could be 12X )\n"
    "0x0002c90300004100 \"                      leaf-000\"      2    1[  ] ==( 4X        53.125 Gbps Active/  LinkUp)==>  "
    "0x0002c90300000101      1    1[  ] \"gpu0000 mlx5_0\" (Could be 12X )\n"
    "0x0002c90300004100 \"                      leaf-000\"      2    9[  ] ==(                Down/ Polling)==>             [  ] "
    "\"\" ( )\n"
    "0x0002c90300004100 \"                      leaf-000\"      2   10[  ] ==( 1X        53.125 Gbps Active/  LinkUp)==>  "
    "0x0002c90300004900     10    2[  ] \"spine-000\" (Could be 4X Could be 106.25 Gbps)\n"
    "0x0002c90300004900 \"                     spine-000\"     10    1[  ] ==(                Down/ Polling)==>             [  ] "
    "\"\" ( )\n"
    "0x0002c90300004900 \"                     spine-000\"     10    2[  ] ==( 1X        53.125 Gbps Active/  LinkUp)==>  "
    "0x0002c90300004100      2   10[  ] \"leaf-000\" (Could be 4X Could be 106.25 Gbps)\n";

TEST(IbLinks, reads_states_rates_and_both_ends) {
  const IbLinks links = parse_ib_links(kLines);
  EXPECT_EQ(links.not_understood, 0u);
  ASSERT_EQ(links.ports.size(), 6u);
  const PortState& host = links.ports[0];
  EXPECT_EQ(host.here.say(), "gpu0000 mlx5_0[1]");
  EXPECT_FALSE(host.is_switch);
  ASSERT_TRUE(host.far.has_value());
  EXPECT_EQ(host.far->say(), "leaf-000[1]");
  EXPECT_TRUE(host.far_is_switch);
  EXPECT_EQ(host.lanes, 4);
  EXPECT_DOUBLE_EQ(host.lane_gbit_s, 53.125);
  EXPECT_EQ(host.lanes_could, 12);
  EXPECT_EQ(host.logical, "Active");
  EXPECT_EQ(host.physical, "LinkUp");
  EXPECT_FALSE(links.ports[2].far.has_value());
  EXPECT_EQ(links.ports[2].logical, "Down");
  EXPECT_EQ(links.ports[2].physical, "Polling");
  EXPECT_EQ(links.ports[3].lanes, 1);
  EXPECT_EQ(links.ports[3].lanes_could, 4);
  EXPECT_DOUBLE_EQ(links.ports[3].lane_gbit_s_could, 106.25);
}

TEST(IbLinks, ports_below_their_nodes_find_the_far_guid_by_its_lid) {
  const IbLinks links = parse_ib_links(
      "CA: gpu0000 mlx5_0:\n"
      "      0x0002c90300000101      1    1[  ] ==( 4X        53.125 Gbps Active/  LinkUp)==>       2    1[  ] \"leaf-000\" ( )\n"
      "Switch: 0x0002c90300004100 leaf-000:\n"
      "           2    1[  ] ==( 4X        53.125 Gbps Active/  LinkUp)==>       1    1[  ] \"gpu0000 mlx5_0\" ( )\n");
  EXPECT_EQ(links.not_understood, 0u);
  ASSERT_EQ(links.ports.size(), 2u);
  EXPECT_EQ(links.ports[0].far->guid, 0x2c90300004100u);
  EXPECT_EQ(links.ports[1].here.guid, 0x2c90300004100u);
  EXPECT_TRUE(links.ports[1].is_switch);
  EXPECT_TRUE(links.ports[0].far_is_switch);
  EXPECT_FALSE(links.ports[0].is_switch);
}

TEST(IbLinks, the_fabric_has_each_cable_once) {
  const auto f = links_fabric(parse_ib_links(kLines).ports);
  ASSERT_TRUE(f.has_value()) << f.error().what;
  EXPECT_EQ(f->nodes.size(), 3u);
  ASSERT_EQ(f->links.size(), 4u);
  EXPECT_DOUBLE_EQ(f->links[0].gb_s, 25);
  EXPECT_EQ(f->links[0].lanes, 4);
  EXPECT_DOUBLE_EQ(f->links[2].gb_s, 6.25);
}

TEST(IbLinks, a_port_with_two_cables_is_refused) {
  const auto f = links_fabric(parse_ib_links("0x1 \"a\" 1 1[  ] ==( 4X 53.125 Gbps Active/LinkUp)==> 0x2 2 1[  ] \"b\" ( )\n"
                                             "0x3 \"c\" 3 1[  ] ==( 4X 53.125 Gbps Active/LinkUp)==> 0x2 2 1[  ] \"b\" ( )\n")
                                  .ports);
  ASSERT_FALSE(f.has_value());
  EXPECT_NE(f.error().what.find("b[1]"), std::string::npos);
  EXPECT_FALSE(links_fabric({}).has_value());
}

TEST(IbLinks, counts_what_it_does_not_understand) {
  for (const char* bad :
       {"hello", "0x1 \"a\" 1 1[  ] ==( )==> ", "0x1 \"a\" 1 999[  ] ==( Down/Polling)==> [  ] \"\" ( )",
        "0x1 \"a\" 1 1[  ] ==( 4X fast Active/LinkUp)==> 0x2 2 1[  ] \"b\" ( )", "1 1[  ] ==( Down/Polling)==> x"}) {
    const IbLinks links = parse_ib_links(bad);
    EXPECT_EQ(links.not_understood, 1u) << bad;
    EXPECT_TRUE(links.ports.empty()) << bad;
  }
}

TEST(IbLinks, reads_a_fabric_of_64_with_a_cable_cut) {
  const char* data = std::getenv("MUSTER_DATA");
  std::ifstream in(std::string(data != nullptr ? data : "/nowhere") + "/fabric/faults_ft2_64/iblinkinfo_cut.out");
  if (!in) GTEST_SKIP() << "fabric/faults_ft2_64 of $MUSTER_DATA is not there";
  std::stringstream text;
  text << in.rdbuf();
  const IbLinks links = parse_ib_links(text.str());
  EXPECT_EQ(links.not_understood, 0u);
  EXPECT_EQ(links.ports.size(), 256u);
  EXPECT_EQ(std::count_if(links.ports.begin(), links.ports.end(), [](const PortState& p) { return p.logical == "Down"; }), 2);
  const auto f = links_fabric(links.ports);
  ASSERT_TRUE(f.has_value()) << f.error().what;
  EXPECT_EQ(f->nodes.size(), 76u);
  EXPECT_EQ(f->links.size(), 254u);
  EXPECT_EQ(f->endpoints().size(), 64u);
}

}  // namespace
}  // namespace muster
