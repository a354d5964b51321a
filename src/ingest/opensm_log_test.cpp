#include "ingest/opensm_log.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace muster {
namespace {

constexpr std::string_view kFellBack =
    "Nov 15 00:22:52 653260 [BE7EE020] 0x43 -> OpenSM 3.3.23\n"
    "Nov 15 00:22:54 039753 [BB14F160] 0x02 -> fabric_dump_general_info:   - Fabric has 1024 CAs, 320 switches\n"
    "Nov 15 00:22:54 039767 [BB14F160] 0x01 -> fabric_validate_topology: ERR AB09: Different number of upward port groups on "
    "switches:\n"
    "       GUID 0x0002c90300040100, LID 3, Index 2.0.0 - 7 groups\n"
    "       GUID 0x0002c90300040200, LID 5, Index 2.0.1 - 8 groups\n"
    "Nov 15 00:22:54 039791 [BB14F160] 0x01 -> fabric_validate_topology: ERR AB0D: Fabric topology hasn't been identified as "
    "FatTree\n"
    "Nov 15 00:22:54 039794 [BB14F160] 0x02 -> Fabric topology is not a fat-tree\n"
    "Nov 15 00:22:54 040787 [BB14F160] 0x01 -> ucast_mgr_route: ftree: cannot build lid matrices\n"
    "Nov 15 00:22:54 714568 [BB14F160] 0x02 -> osm_ucast_mgr_process: minhop tables configured on all switches\n"
    "Nov 15 00:22:56 714549 [BB14F160] 0x02 -> SUBNET UP\n";

TEST(OpensmLog, tells_which_engine_failed_and_which_took_its_place) {
  const SubnetLog log = parse_opensm_log(kFellBack);
  EXPECT_EQ(log.version, "3.3.23");
  ASSERT_EQ(log.routings.size(), 1u);
  const SubnetLog::Routing& r = log.routings[0];
  EXPECT_EQ(r.engine, "minhop");
  EXPECT_EQ(r.failed, std::vector<std::string>{"ftree"});
  EXPECT_TRUE(r.up);
  EXPECT_EQ(r.at.time, "Nov 15 00:22:54");
  EXPECT_EQ(r.at.line, 9);
  // The leaf that has seven groups of uplinks where its neighbour has eight.
  EXPECT_EQ(r.odd, std::vector<std::uint64_t>{0x2c90300040100});
  ASSERT_EQ(r.because.size(), 4u);
  EXPECT_NE(r.because[0].text.find("AB09"), std::string::npos);
  EXPECT_EQ(log.errors.at("AB0D").count, 1u);
  EXPECT_EQ(log.not_understood, 0u);
}

TEST(OpensmLog, a_later_routing_stands_alone) {
  const SubnetLog log = parse_opensm_log(
      std::string(kFellBack) +
      "Nov 15 00:23:25 961652 [9CCFF160] 0x02 -> osm_ucast_mgr_process: ftree tables configured on all switches\n"
      "Nov 15 00:23:25 972808 [9CCFF160] 0x02 -> SUBNET UP\n");
  ASSERT_EQ(log.routings.size(), 2u);
  EXPECT_EQ(log.routings[1].engine, "ftree");
  EXPECT_TRUE(log.routings[1].failed.empty());
  EXPECT_TRUE(log.routings[1].because.empty());
}

TEST(OpensmLog, knows_the_engines_that_were_asked_for_where_it_is_said) {
  for (const char* text : {" Activate 'ftree,updn' routing engine(s)\n", "routing_engine ftree,updn\n",
                           " Loading Cached Option:routing_engine = ftree,updn\n"}) {
    EXPECT_EQ(parse_opensm_log(text).engines_asked, (std::vector<std::string>{"ftree", "updn"})) << text;
    EXPECT_FALSE(parse_opensm_log(text).fallback_forbidden);
  }
  const SubnetLog strict = parse_opensm_log("routing_engine ftree,no_fallback\n");
  EXPECT_EQ(strict.engines_asked, std::vector<std::string>{"ftree"});
  EXPECT_TRUE(strict.fallback_forbidden);
}

// What is configured is not logged with `-D 0x01`: the fabric is routed all the same, by another engine than asked for.
TEST(OpensmLog, a_log_of_errors_alone_does_not_say_that_none_could_route) {
  const std::string failed = "Nov 15 00:22:54 040790 [BB14F160] 0x01 -> ucast_mgr_route: ftree: cannot build fwd tables.\n";
  const SubnetLog log = parse_opensm_log(failed + "Nov 15 00:22:55 040790 [BB14F160] 0x80 -> SUBNET UP\n" + failed);
  ASSERT_EQ(log.routings.size(), 2u);
  for (const auto& r : log.routings) {
    EXPECT_EQ(r.engine, "an engine that the log does not name");
    EXPECT_EQ(r.failed, std::vector<std::string>{"ftree"});
  }
  EXPECT_TRUE(log.routings[0].up);
  EXPECT_FALSE(log.routings[1].up);
}

TEST(OpensmLog, a_fabric_that_no_engine_could_route_has_none) {
  const SubnetLog log = parse_opensm_log(
      "Nov 15 00:22:54 040787 [BB14F160] 0x01 -> ucast_mgr_route: ftree: cannot build lid matrices\n"
      "Nov 15 00:22:54 040790 [BB14F160] 0x01 -> osm_ucast_mgr_process: No routing engine able to successfully configure  "
      "switch tables on current fabric\n");
  ASSERT_EQ(log.routings.size(), 1u);
  EXPECT_EQ(log.routings[0].engine, "");
  EXPECT_FALSE(log.routings[0].up);
}

TEST(OpensmLog, ports_that_came_and_went_have_their_names) {
  const SubnetLog log = parse_opensm_log(
      "Nov 15 00:17:19 634661 [9CCFF160] 0x02 -> drop_mgr_remove_port: Removed port with GUID:0x0002c90300004c00 LID range [13, "
      "13] of node:spine-003\n"
      "Nov 15 00:17:25 969321 [9CCFF160] 0x02 -> state_mgr_report_new_ports: Discovered new port with GUID:0x0002c90300004c00 "
      "LID "
      "range [13,13] of node: spine-003\n");
  ASSERT_EQ(log.ports.size(), 2u);
  EXPECT_TRUE(log.ports[0].removed);
  EXPECT_FALSE(log.ports[1].removed);
  EXPECT_EQ(log.ports[1].node, "spine-003");
  EXPECT_EQ(log.ports[1].guid, 0x2c90300004c00u);
}

TEST(OpensmLog, one_guid_on_two_devices_is_told_with_both_neighbours) {
  const SubnetLog log = parse_opensm_log(
      "Nov 15 00:17:19 634661 [9CCFF160] 0x81 -> report_duplicated_guid: ERR 0D01: Found duplicated node GUID.\n"
      "Node 0x2c90300000200 port 1 is reachable from remote node 0x2c90300004100 port 2 and remote node 0x2c90300004200 port 5.\n"
      "Paths are:\n"
      "Nov 15 00:17:20 634661 [9CCFF160] 0x01 -> ni_rcv_process_new: ERR 0D15: Duplicate Port GUID 0x2c90300000201! Found by the "
      "two directed routes:\n");
  ASSERT_EQ(log.duplicates.size(), 2u);
  EXPECT_EQ(log.duplicates[0].guid, 0x2c90300000200u);
  EXPECT_EQ(log.duplicates[0].seen_from[1], 0x2c90300004200u);
  EXPECT_EQ(log.duplicates[0].seen_from_port[1], 5);
  EXPECT_EQ(log.duplicates[1].guid, 0x2c90300000201u);
}

TEST(OpensmLog, what_is_kept_is_bounded_and_the_last_stays) {
  std::string text;
  for (int i = 0; i < 300; ++i)
    text += "Nov 15 00:22:54 714568 [BB14F160] 0x02 -> x: engine" + std::to_string(i) + " tables configured on all switches\n";
  const SubnetLog log = parse_opensm_log(text);
  EXPECT_EQ(log.routings.size(), kSubnetLogRoutingsMax);
  EXPECT_EQ(log.routings.back().engine, "engine299");
  EXPECT_EQ(log.left_out, 300 - kSubnetLogRoutingsMax);
}

TEST(OpensmLog, reads_a_run_with_a_cut_cable_and_a_dead_switch) {
  const char* data = std::getenv("MUSTER_DATA");
  std::ifstream in(std::string(data != nullptr ? data : "/nowhere") + "/fabric/faults_ft2_64/opensm.log");
  if (!in) GTEST_SKIP() << "fabric/faults_ft2_64 of $MUSTER_DATA is not there";
  std::stringstream text;
  text << in.rdbuf();
  const SubnetLog log = parse_opensm_log(text.str());
  ASSERT_GE(log.routings.size(), 3u);
  EXPECT_EQ(log.routings.front().engine, "ftree");
  EXPECT_EQ(log.routings[1].engine, "minhop");
  EXPECT_EQ(log.routings[1].odd, std::vector<std::uint64_t>{0x2c90300004100});
  EXPECT_EQ(log.routings.back().engine, "ftree");
  EXPECT_TRUE(log.duplicates.empty());
  EXPECT_FALSE(log.ports.empty());
  EXPECT_EQ(log.not_understood, 0u);
}

}  // namespace
}  // namespace muster
