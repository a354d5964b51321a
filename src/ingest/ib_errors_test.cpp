#include "ingest/ib_errors.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace muster {
namespace {

constexpr std::string_view kText =
    "Errors for 0x2c90300004100 \"leaf-000\"\n"
    "   GUID 0x2c90300004100 port ALL: [SymbolErrorCounter == 65535] [LinkDownedCounter == 7]\n"
    "   GUID 0x2c90300004100 port 9: [SymbolErrorCounter == 65535] [LinkDownedCounter == 7] [PortXmitData == 252936 "
    "(988.031KB)]\n"
    "         Link info:     12    9[  ] ==( 4X        53.125 Gbps Active/  LinkUp)==>  0x2c90 5 1[  ] \"node7 HCA-1\" ( )\n"
    "\n## Summary: 76 nodes checked, 1 bad nodes found\n"
    "##          257 ports checked, 2 ports have errors beyond threshold\n## Thresholds: \n## Suppressed:\n";

TEST(IbErrors, reads_ports_counters_and_the_summary) {
  const IbErrors e = parse_ib_errors(kText);
  EXPECT_TRUE(e.complete);
  EXPECT_EQ(e.nodes_checked, 76);
  EXPECT_EQ(e.nodes_bad, 1);
  EXPECT_EQ(e.ports_checked, 257);
  EXPECT_EQ(e.ports_bad, 2);
  ASSERT_EQ(e.ports.size(), 2u);
  EXPECT_EQ(e.ports[0].port, -1);
  EXPECT_EQ(e.ports[1].port, 9);
  EXPECT_EQ(e.ports[1].guid, 0x2c90300004100u);
  EXPECT_EQ(e.ports[1].node, "leaf-000");
  ASSERT_EQ(e.ports[1].counters.size(), 3u);
  EXPECT_EQ(e.ports[1].counters[1], (std::pair<std::string, std::uint64_t>{"LinkDownedCounter", 7}));
  EXPECT_EQ(e.ports[1].counters[2].second, 252936u);
  EXPECT_NE(e.ports[1].link.find("node7 HCA-1"), std::string::npos);
  EXPECT_EQ(e.not_understood, 0u);
}

TEST(IbErrors, says_when_the_tool_did_not_finish_or_could_not_ask) {
  const IbErrors e = parse_ib_errors(
      "ibwarn: [77] mad_rpc: _do_madrpc failed; dport (Lid 4)\nErrors for \"node7 HCA-1\"\n   GUID 0x1 port 1: [PortRcvErrors == "
      "3]\n");
  EXPECT_FALSE(e.complete);
  EXPECT_EQ(e.warnings.size(), 1u);
  ASSERT_EQ(e.ports.size(), 1u);
  EXPECT_EQ(e.ports[0].node, "node7 HCA-1");
}

TEST(IbErrors, counts_what_it_does_not_understand) {
  for (const char* bad :
       {"GUID x port 1: [A == 1]", "GUID 0x1 port 999: [A == 1]", "GUID 0x1 port 1: [A = 1]", "GUID 0x1 port 1: [A == -1]",
        "GUID 0x1 port 1", "hello", "GUID 0x1 port 1: [A == 99999999999999999999999]"}) {
    const IbErrors e = parse_ib_errors(bad);
    EXPECT_EQ(e.not_understood, 1u) << bad;
    EXPECT_TRUE(e.ports.empty()) << bad;
  }
  std::string many = "GUID 0x1 port 1:";
  for (int i = 0; i < 100; ++i) many += " [C" + std::to_string(i) + " == 1]";
  EXPECT_EQ(parse_ib_errors(many).ports.at(0).counters.size(), kIbCountersMax);
  EXPECT_EQ(parse_ib_errors(many).left_out, 100 - kIbCountersMax);
  EXPECT_EQ(parse_ib_errors(std::string(5000, 'x')).not_understood, 1u);
}

TEST(IbErrors, a_broken_summary_does_not_undo_a_whole_one) {
  const IbErrors e = parse_ib_errors(std::string(kText) + "## Summary: x nodes checked, 1 bad nodes found\n");
  EXPECT_TRUE(e.complete);
  EXPECT_EQ(e.nodes_checked, 76);
  EXPECT_EQ(e.not_understood, 1u);
}

TEST(IbErrors, what_the_tool_does_not_mention_is_known_from_its_thresholds) {
  const IbErrors e = parse_ib_errors(std::string(kText) + "## Thresholds: SymbolErrorCounter=10 LinkDownedCounter=3 x=y =4\n");
  EXPECT_EQ(e.thresholds.size(), 2u);
  const CounterReading r = counter_reading(e);
  EXPECT_TRUE(r.complete);
  EXPECT_EQ(r.floors.at("SymbolErrorCounter"), 10u);
  ASSERT_EQ(r.ports.size(), 1u);  // the sum over the node is none
  EXPECT_EQ(r.ports[0].port.say(), "leaf-000[9]");
}

TEST(IbErrors, a_reading_in_which_a_node_did_not_answer_is_not_complete) {
  EXPECT_FALSE(
      counter_reading(parse_ib_errors("ibwarn: [77] mad_rpc: _do_madrpc failed; dport (Lid 4)\n" + std::string(kText))).complete);
}

TEST(IbErrors, reads_perfquery_port_by_port) {
  const CounterReading r = parse_perfquery(
      "# Port counters: Lid 2 port 1 (CapMask: "
      "0x1300)\nPortSelect:......................1\nCounterSelect:...................0x0000\n"
      "SymbolErrorCounter:..............0\nPortRcvErrors:...................123\nPortXmitWait:....................0\n"
      "# Port extended counters: Lid 2 port 9 (CapMask: 0x1300 CapMask2: 0x0000000)\n"
      "PortXmitData:....................123456789013569\n");
  ASSERT_EQ(r.ports.size(), 2u);
  EXPECT_EQ(r.ports[0].port.say(), "lid 2[1]");
  ASSERT_EQ(r.ports[0].values.size(), 3u);
  EXPECT_EQ(r.ports[0].values[1], (std::pair<std::string, std::uint64_t>{"PortRcvErrors", 123}));
  EXPECT_EQ(r.ports[1].port.port, 9);
  EXPECT_EQ(r.ports[1].values[0].second, 123456789013569u);
  EXPECT_TRUE(parse_perfquery("PortRcvErrors:...1\n").ports.empty());
  EXPECT_EQ(parse_counters("# Port counters: Lid 2 port 1\nPortRcvErrors:...1\n").ports.at(0).port.say(), "lid 2[1]");
  EXPECT_EQ(parse_counters(kText).ports.at(0).port.say(), "leaf-000[9]");
}

// Errors that were there before are no growth, whichever of the two parts of a port tells of them.
TEST(IbErrors, a_port_that_perfquery_tells_of_twice_is_one) {
  const CounterReading r = parse_perfquery(
      "# Port counters: Lid 2 port 1 (CapMask: 0x1300)\nSymbolErrorCounter:..............500\n"
      "PortXmitPkts:....................4294967295\n"
      "# Port extended counters: Lid 2 port 1 (CapMask: 0x1300)\nPortXmitPkts:....................9000000000\n");
  ASSERT_EQ(r.ports.size(), 1u);
  ASSERT_EQ(r.ports[0].values.size(), 2u);
  EXPECT_EQ(r.ports[0].values[1].second, 9000000000u);
  EXPECT_TRUE(counter_growth(r, r, 60).empty());
}

TEST(IbErrors, reads_a_fabric_with_injected_errors) {
  const char* data = std::getenv("MUSTER_DATA");
  std::ifstream in(std::string(data != nullptr ? data : "/nowhere") + "/fabric/faults_ft2_64/ibqueryerrors_data.out");
  if (!in) GTEST_SKIP() << "fabric/faults_ft2_64 of $MUSTER_DATA is not there";
  std::stringstream text;
  text << in.rdbuf();
  const IbErrors e = parse_ib_errors(text.str());
  EXPECT_TRUE(e.complete);
  EXPECT_EQ(e.not_understood, 0u);
  ASSERT_EQ(e.ports.size(), 3u);
  EXPECT_EQ(e.ports[2].port, 9);
  EXPECT_EQ(e.ports[2].counters[0].second, 65535u);
}

}  // namespace
}  // namespace muster
