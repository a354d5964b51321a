#include "ingest/lldp.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace muster {
namespace {

constexpr std::string_view kJson = R"({"lldp": {"interface": [
 {"eth2": {"via": "LLDP", "rid": "1", "age": "0 day, 00:05:00",
   "chassis": {"leaf01": {"id": {"type": "mac", "value": "44:38:39:00:00:11"},
     "descr": "Cumulus Linux version 5.9.0 on NVIDIA SN5600",
     "capability": [{"type": "Bridge", "enabled": true}, {"type": "Router", "enabled": true}]}},
   "port": {"id": {"type": "ifname", "value": "swp17s1"}, "descr": "to gpu0063", "ttl": "120",
     "auto-negotiation": {"supported": true, "enabled": true, "current": "400GbaseSR8"}}}},
 {"eth3": {"via": "LLDP",
   "chassis": {"id": {"type": "mac", "value": "44:38:39:00:00:12"}, "capability": {"type": "Bridge", "enabled": true}},
   "port": {"id": {"type": "mac", "value": "44:38:39:00:01:12"}, "descr": "Ethernet1/9"}}}]}})";

TEST(Lldp, reads_the_json_of_a_host) {
  const auto n = parse_lldp(kJson, "gpu0063.json", "gpu0063");
  ASSERT_TRUE(n.has_value()) << n.error().what;
  ASSERT_EQ(n->size(), 2u);
  EXPECT_EQ((*n)[0].port, "eth2");
  EXPECT_EQ((*n)[0].far_name, "leaf01");
  EXPECT_EQ((*n)[0].far_port, "swp17s1");
  EXPECT_TRUE((*n)[0].far_forwards);
  EXPECT_DOUBLE_EQ((*n)[0].gbit_s, 400);
  EXPECT_EQ((*n)[1].far_name, "");
  EXPECT_EQ((*n)[1].far_id, "44:38:39:00:00:12");
  EXPECT_EQ((*n)[1].far_port, "Ethernet1/9");
  const auto f = lldp_fabric(*n, 50);
  ASSERT_TRUE(f.has_value()) << f.error().what;
  ASSERT_EQ(f->links.size(), 4u);
  EXPECT_EQ(f->nodes[0].name, "gpu0063 eth2");
  EXPECT_EQ(f->nodes[1].guid, 0x443839000011u);
  EXPECT_TRUE(f->nodes[1].is_switch);
  EXPECT_EQ(f->links[1].port, 1701);
  EXPECT_DOUBLE_EQ(f->links[0].gb_s, 50);
}

TEST(Lldp, an_object_of_hosts_tells_who_says_what) {
  const auto n = parse_lldp("{\"gpu1\": " + std::string(kJson) + ", \"gpu2\": " + std::string(kJson) + "}", "all.json");
  ASSERT_TRUE(n.has_value()) << n.error().what;
  EXPECT_EQ(n->size(), 4u);
  EXPECT_EQ((*n)[3].host, "gpu2");
  const auto nobody = parse_lldp(kJson, "x.json");
  ASSERT_FALSE(nobody.has_value());
  EXPECT_NE(nobody.error().what.find("x.json"), std::string::npos);
}

constexpr std::string_view kPairs =
    "gpu1: lldp.eth0.via=LLDP\ngpu1: lldp.eth0.chassis.mac=44:38:39:00:00:11\ngpu1: lldp.eth0.chassis.name=leaf01\n"
    "gpu1: lldp.eth0.chassis.descr=SONiC Software Version: SONiC.202311 - Distribution: Debian 11.8\n"
    "gpu1: lldp.eth0.chassis.Bridge.enabled=on\ngpu1: lldp.eth0.port.ifname=Ethernet8\ngpu1: lldp.eth0.port.descr=etp2\n"
    "leaf01: lldp.Ethernet8.chassis.name=gpu1\nleaf01: lldp.Ethernet8.chassis.descr=Ubuntu 24.04 LTS Linux 6.8\n"
    "leaf01: lldp.Ethernet8.chassis.Bridge.enabled=on\nleaf01: lldp.Ethernet8.port.ifname=eth0\n";

TEST(Lldp, is_told_from_what_ibnetdiscover_prints) {
  EXPECT_TRUE(looks_like_lldp(kJson));
  EXPECT_TRUE(looks_like_lldp(kPairs));
  EXPECT_TRUE(looks_like_lldp("----\nInterface:    eth0, via: LLDP, RID: 1\n"));
  EXPECT_FALSE(looks_like_lldp("# comment\nSwitch\t8 \"S-1\"\t# \"lldp.a=1\"\n"));
  EXPECT_FALSE(looks_like_lldp(""));
  EXPECT_FALSE(looks_like_lldp("hello\n"));
}

TEST(Lldp, both_ends_of_a_cable_make_one_and_a_host_that_bridges_stays_a_host) {
  const auto n = parse_lldp(kPairs, "pairs");
  ASSERT_TRUE(n.has_value()) << n.error().what;
  ASSERT_EQ(n->size(), 2u);
  const auto f = lldp_fabric(*n, 50);
  ASSERT_TRUE(f.has_value()) << f.error().what;
  EXPECT_EQ(f->nodes.size(), 2u);
  EXPECT_EQ(f->links.size(), 2u);
  EXPECT_EQ(f->endpoints().size(), 1u);
  EXPECT_EQ(f->nodes[1].name, "leaf01");
  EXPECT_EQ(f->links[1].port, 8);
}

TEST(Lldp, reads_what_people_read) {
  const auto n = parse_lldp(
      "-------------------------------------------------------------------------------\nLLDP neighbors:\n"
      "-------------------------------------------------------------------------------\n"
      "Interface:    eth0, via: LLDP, RID: 1, Time: 0 day, 00:00:22\n  Chassis:\n    ChassisID:    mac 44:38:39:00:00:11\n"
      "    SysName:      leaf01\n    SysDescr:     Arista Networks EOS version 4.31\n    Capability:   Bridge, on\n  Port:\n"
      "    PortID:       ifname Ethernet17/1\n    PortDescr:    to gpu1\n    TTL:          120\n"
      "      MAU oper type: 100GbaseSR4 - something\n",
      "plain", "gpu1");
  ASSERT_TRUE(n.has_value()) << n.error().what;
  ASSERT_EQ(n->size(), 1u);
  EXPECT_EQ((*n)[0].far_port, "Ethernet17/1");
  EXPECT_EQ((*n)[0].far_id, "44:38:39:00:00:11");
  EXPECT_DOUBLE_EQ((*n)[0].gbit_s, 100);
  EXPECT_EQ(lldp_fabric(*n, 50)->links[1].port, 17);
}

// As pdsh prints what several hosts say at once.
TEST(Lldp, lines_of_hosts_that_come_between_each_others_stay_theirs) {
  const auto n = parse_lldp(
      "gpu1: Interface:    eth0, via: LLDP, RID: 1, Time: 0 day, 00:00:22\n"
      "gpu2: Interface:    eth0, via: LLDP, RID: 1, Time: 0 day, 00:00:21\n"
      "gpu1:     SysName:      leaf01\ngpu2:     SysName:      leaf02\n"
      "gpu2:     PortID:       ifname swp2\ngpu1:     PortID:       ifname swp1\n",
      "plain");
  ASSERT_TRUE(n.has_value()) << n.error().what;
  ASSERT_EQ(n->size(), 2u);
  EXPECT_EQ((*n)[0].host + " " + (*n)[0].far_name + " " + (*n)[0].far_port, "gpu1 leaf01 swp1");
  EXPECT_EQ((*n)[1].host + " " + (*n)[1].far_name + " " + (*n)[1].far_port, "gpu2 leaf02 swp2");
}

TEST(Lldp, full_names_that_devices_announce_are_of_those_who_were_asked) {
  std::string text(kPairs);
  for (const std::string_view name : {"chassis.name=leaf01", "chassis.name=gpu1"})
    text.insert(text.find(name) + name.size(), ".dc1.example.com");
  const auto f = lldp_fabric(*parse_lldp(text, "pairs"), 50);
  ASSERT_TRUE(f.has_value()) << f.error().what;
  ASSERT_EQ(f->nodes.size(), 2u);
  EXPECT_EQ(f->nodes[0].name, "gpu1 eth0");
  EXPECT_EQ(f->nodes[1].name, "leaf01");
  EXPECT_TRUE(f->nodes[1].is_switch);
  EXPECT_EQ(f->links.size(), 2u);
}

TEST(Lldp, a_port_with_number_0_is_refused_as_such) {
  std::string text(kPairs);
  for (std::size_t at = text.find("Ethernet8"); at != std::string::npos; at = text.find("Ethernet8")) text[at + 8] = '0';
  const auto f = lldp_fabric(*parse_lldp(text, "pairs"), 50);
  ASSERT_FALSE(f.has_value());
  EXPECT_EQ(f.error().what, "the port \"Ethernet0\" of switch leaf01 is number 0, and ports are counted from 1");
}

TEST(Lldp, what_cannot_be_a_network_is_refused_with_a_reason) {
  for (const char* bad : {"", "hello", "{", "{}", "[1]", "{\"a\": 1}", "lldp.eth0.chassis.name=leaf01\n"}) {
    const auto n = parse_lldp(bad, "f");
    if (n) {
      EXPECT_FALSE(lldp_fabric(*n, 50).has_value()) << bad;
      continue;
    }
    EXPECT_NE(n.error().what.find("f"), std::string::npos) << bad;
    EXPECT_FALSE(n.error().next.empty()) << bad;
  }
  // One port, two cables.
  const auto two = parse_lldp(std::string(kPairs) +
                                  "gpu2: lldp.eth0.chassis.name=leaf01\ngpu2: lldp.eth0.chassis.descr=SONiC\ngpu2: "
                                  "lldp.eth0.port.ifname=Ethernet8\n",
                              "f");
  ASSERT_TRUE(two.has_value());
  EXPECT_FALSE(lldp_fabric(*two, 50).has_value());
}

}  // namespace
}  // namespace muster
