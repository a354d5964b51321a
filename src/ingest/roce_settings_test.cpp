#include "ingest/roce_settings.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(RoceSettings, WhatMlnxQosPrints) {
  constexpr const char* kText =
      "DCBX mode: OS controlled\n"
      "Priority trust state: dscp\n"
      "dscp2prio mapping:\n"
      "        prio:0 dscp:07,06,05,04,03,02,01,00,\n"
      "        prio:3 dscp:31,30,29,28,27,26,25,24,\n"
      "Cable len: 10\n"
      "PFC configuration:\n"
      "        priority    0   1   2   3   4   5   6   7\n"
      "        enabled     0   0   0   1   0   0   0   0\n";
  ASSERT_TRUE(looks_like_roce_settings(kText));
  const auto s = parse_roce_settings(kText, "qos.txt");
  ASSERT_TRUE(s) << s.error().what;
  EXPECT_FALSE(s->is_switch);
  EXPECT_EQ(s->trust, "dscp");
  EXPECT_EQ(s->line, 2U);
  EXPECT_EQ(s->pfc, std::vector<int>{3});
  ASSERT_TRUE(s->priority_of);
  EXPECT_EQ((*s->priority_of)[26], 3);
  EXPECT_EQ((*s->priority_of)[0], 0);
  EXPECT_EQ((*s->priority_of)[40], -1);
  EXPECT_DOUBLE_EQ(*s->cable_m, 10);
}

TEST(RoceSettings, WhatSonicIsConfiguredWith) {
  constexpr const char* kText = R"({
    "WRED_PROFILE": {"AZURE_LOSSLESS": {"ecn": "ecn_all", "green_min_threshold": "250000", "green_max_threshold": "1048576",
                                        "green_drop_probability": "5"}},
    "QUEUE": {"Ethernet0|3-4": {"wred_profile": "[WRED_PROFILE|AZURE_LOSSLESS]"}, "Ethernet0|0": {"scheduler": "s"}},
    "PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "3,4", "dscp_to_tc_map": "AZURE"}},
    "DSCP_TO_TC_MAP": {"AZURE": {"26": "3", "0": "1"}},
    "BUFFER_POOL": {"ingress_lossless_pool": {"size": "33000000"}},
    "BUFFER_PROFILE": {"pg_lossless": {"xoff": "160000", "dynamic_th": "0"}},
    "CABLE_LENGTH": {"AZURE": {"Ethernet0": "40m"}},
    "PORT": {"Ethernet0": {"speed": "400000", "mtu": "9100"}}})";
  ASSERT_TRUE(looks_like_roce_settings(kText));
  const auto s = parse_roce_settings(kText, "config_db.json");
  ASSERT_TRUE(s) << s.error().what;
  EXPECT_TRUE(s->is_switch);
  EXPECT_EQ(s->pfc, (std::vector<int>{3, 4}));
  EXPECT_EQ(s->ecn, (std::vector<int>{3, 4}));
  EXPECT_DOUBLE_EQ(*s->kmin_kb, 250);
  EXPECT_DOUBLE_EQ(*s->pmax, 0.05);
  EXPECT_DOUBLE_EQ(*s->headroom_kb, 160);
  EXPECT_DOUBLE_EQ(*s->line_gb_s, 50);
  EXPECT_DOUBLE_EQ(*s->cable_m, 40);
  EXPECT_NEAR(*s->xoff_kb, 33000.0 / 17, 1);
  EXPECT_EQ((*s->priority_of)[26], 3);
}

TEST(RoceSettings, HeadroomIsThatOfTheFastestPorts) {
  const auto parsed = [](const std::string& profiles) {
    return parse_roce_settings(R"({"BUFFER_PROFILE": {)" + profiles + R"(},
        "CABLE_LENGTH": {"AZURE": {"Ethernet0": "300m", "Ethernet4": "5m", "Ethernet8": "0m"}},
        "PORT": {"Ethernet0": {"speed": "400000"}, "Ethernet4": {"speed": "100000"}}})",
                               "config_db.json");
  };
  const auto named = parsed(R"("pg_lossless_100000_5m_profile": {"xoff": "48000"},
                               "pg_lossless_400000_300m_profile": {"xoff": "300000"})");
  ASSERT_TRUE(named) << named.error().what;
  EXPECT_DOUBLE_EQ(named->headroom_kb.value_or(0), 300) << "the other is for slower ports with short cables";
  EXPECT_DOUBLE_EQ(named->cable_m.value_or(0), 300);
  const auto nameless = parsed(R"("mine": {"xoff": "48000"})");
  ASSERT_TRUE(nameless);
  EXPECT_FALSE(nameless->headroom_kb) << "for which ports is not told";
}

TEST(RoceSettings, TheMapIsTheOneThatPortsUse) {
  const auto s = parse_roce_settings(R"({"PORT_QOS_MAP": {"Ethernet0": {"dscp_to_tc_map": "[DSCP_TO_TC_MAP|ROCE]"}},
      "DSCP_TO_TC_MAP": {"AZURE": {"26": "1"}, "ROCE": {"26": "3"}}})",
                                     "config_db.json");
  ASSERT_TRUE(s) << s.error().what;
  ASSERT_TRUE(s->priority_of);
  EXPECT_EQ((*s->priority_of)[26], 3);
}

TEST(RoceSettings, SonicThatIsNoJsonSaysSo) {
  const auto s = parse_roce_settings("{\"WRED_PROFILE\": {", "config_db.json");
  ASSERT_FALSE(s);
  EXPECT_TRUE(s.error().what.starts_with("config_db.json: broken JSON: ")) << s.error().what;
  // One that breaks off before the tables that matter.
  EXPECT_TRUE(looks_like_roce_settings("{\n \"DEVICE_METADATA\": {\"localhost\": {}},\n \"PORT\": {\"Ethernet0\""));
  EXPECT_FALSE(looks_like_roce_settings("step 1: wrote \"DEVICE_METADATA\"\n"));
}

TEST(RoceSettings, SwitchesInTheirOwnWords) {
  const auto onyx = parse_roce_settings(
      "RoCE mode      : lossless\nPort trust mode: L3\nPort congestion-control:\nMode: ecn, absolute\nMin : 150\nMax : 1500\n"
      "PFC : enabled\nswitch-priority 3: enabled\nMax buffer : shared\n",
      "roce.txt");
  ASSERT_TRUE(onyx);
  EXPECT_DOUBLE_EQ(*onyx->kmin_kb, 150);
  EXPECT_DOUBLE_EQ(*onyx->kmax_kb, 1500);
  EXPECT_EQ(onyx->pfc, std::vector<int>{3});
  EXPECT_EQ(onyx->trust, "dscp");
  const auto cumulus = parse_roce_settings(
      "congestion-control\n  enabled-tc        0,3\n  max-threshold     1.43 MB\n  min-threshold     146.48 KB\n"
      "  probability       100\npfc\n  pfc-priority      3\ntrust\n  trust-mode        pcp,dscp\n",
      "roce.txt");
  ASSERT_TRUE(cumulus);
  EXPECT_NEAR(*cumulus->kmax_kb, 1430, 1e-6);
  EXPECT_NEAR(*cumulus->kmin_kb, 146.48, 1e-6);
  EXPECT_EQ(cumulus->ecn, (std::vector<int>{0, 3}));
}

TEST(RoceCounters, OfEthtoolRdmaAndFiles) {
  const auto ethtool = parse_roce_counters("NIC statistics:\n     rx_prio3_pause: 17\n     tx_bytes: 5\n", "a");
  ASSERT_EQ(ethtool.size(), 1U);
  EXPECT_EQ(ethtool[0].value.at("rx_prio3_pause"), 17U);
  const auto rdma = parse_roce_counters("link mlx5_0/1 np_cnp_sent 3 out_of_sequence 2\nlink mlx5_1/1 np_cnp_sent 0\n", "b");
  ASSERT_EQ(rdma.size(), 2U);
  EXPECT_EQ(rdma[0].card, "mlx5_0");
  EXPECT_EQ(rdma[0].value.at("out_of_sequence"), 2U);
  const auto files = parse_roce_counters("/sys/class/infiniband/mlx5_2/ports/1/hw_counters/packet_seq_err:9\n", "c");
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(files[0].card, "mlx5_2");
  EXPECT_EQ(files[0].value.at("packet_seq_err"), 9U);
  constexpr const char* kPlain = "mlx5_2/ports/1/counters/link_downed:4\n";
  EXPECT_TRUE(looks_like_roce_counters(kPlain));
  const auto plain = parse_roce_counters(kPlain, "d");
  ASSERT_EQ(plain.size(), 1U);
  EXPECT_EQ(plain[0].card, "mlx5_2");
  EXPECT_EQ(plain[0].value.at("link_downed"), 4U);
}

TEST(RoceCounters, SeveralTablesOfEthtoolAreSeveralCards) {
  const auto two = parse_roce_counters("NIC statistics:\n  rx_discards_phy: 7\nNIC statistics:\n  rx_discards_phy: 0\n", "a");
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(two[0].card, "");
  EXPECT_EQ(two[0].value.at("rx_discards_phy"), 7U);
  EXPECT_EQ(two[1].card, "table 2");
}

TEST(RoceCounters, CardsAreBounded) {
  std::string text;
  for (std::size_t i = 0; i < kRoceCardsMax + 10; ++i) text += "link c" + std::to_string(i) + "/1 np_cnp_sent 1\n";
  EXPECT_EQ(parse_roce_counters(text, "a").size(), kRoceCardsMax);
}

}  // namespace
}  // namespace muster
