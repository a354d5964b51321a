#include "adapters/infiniband/describe.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "ingest/ib_net.h"

namespace muster::infiniband {
namespace {

// A switch with two ports, one of them cabled to an adapter, as the library hands them over.
struct Found {
  NetNode leaf{}, host{};
  NetPort leaf0{}, leaf1{}, leaf2{}, host1{};
  std::array<NetPort*, 3> leaf_ports{&leaf0, &leaf1, &leaf2};
  std::array<NetPort*, 2> host_ports{nullptr, &host1};
  NetFabric fabric{};

  Found() {
    node(leaf, kSwitch, 0x2c90300004100, "leaf-\"000\"", leaf_ports.data(), 2);
    leaf.lid = 2;
    leaf.enhanced_port_0 = 1;
    node(host, kAdapter, 0x2c90300000100, "gpu0000 mlx5_0", host_ports.data(), 1);
    leaf.next = &host;
    port(leaf0, leaf, 0), port(leaf1, leaf, 1), port(leaf2, leaf, 2), port(host1, host, 1);
    host1.guid = 0x2c90300000101;
    host1.lid = 1;
    leaf2.info[32] = 1, leaf2.info[33] = 2 << 4;  // Down, Polling
    leaf1.remote = &host1, host1.remote = &leaf1;
    fabric = {&host, 1, &leaf};
  }
  static void node(NetNode& n, int type, std::uint64_t guid, const char* name, NetPort** ports, int count) {
    n.type = type;
    n.guid = guid;
    n.ports = ports;
    n.port_count = count;
    std::strncpy(n.description, name, 64);
  }
  static void port(NetPort& p, NetNode& of, int number) {
    p.node = &of;
    p.number = number;
    p.info[22] = 0x40;
    p.info[30] = 3, p.info[31] = 2;
    p.info[32] = 7 << 4 | 4, p.info[33] = 5 << 4;
    p.info[35] = 4 << 4;
    p.info[62] = 4 << 4 | 15;
  }
};

TEST(Describe, the_text_reads_as_ibnetdiscovers) {
  const Found found;
  const auto f = parse_ib_net(render_net(found.fabric), "live");
  ASSERT_TRUE(f.has_value()) << f.error().what << "\n" << render_net(found.fabric);
  ASSERT_EQ(f->nodes.size(), 2u);
  ASSERT_EQ(f->links.size(), 2u);
  EXPECT_DOUBLE_EQ(f->links[0].gb_s, 25);
  EXPECT_EQ(f->endpoints().size(), 1u);
  EXPECT_EQ(f->nodes[f->endpoints()[0]].guid, 0x2c90300000101u);
  for (const FabricNode& n : f->nodes) {
    if (n.is_switch) {
      EXPECT_EQ(n.name, "leaf-'000'");
    }
  }
}

TEST(Describe, ports_have_their_states_and_what_both_ends_could_do) {
  const Found found;
  const auto ports = port_states(found.fabric);
  ASSERT_EQ(ports.size(), 3u);
  EXPECT_EQ(ports[0].here.say(), "leaf-'000'[1]");
  EXPECT_TRUE(ports[0].is_switch);
  EXPECT_EQ(ports[0].far->say(), "gpu0000 mlx5_0[1]");
  EXPECT_EQ(ports[0].lanes, 4);
  EXPECT_EQ(ports[0].lanes_could, 0);
  EXPECT_DOUBLE_EQ(ports[0].lane_gbit_s_could, 106.25);
  EXPECT_FALSE(ports[1].far.has_value());
  EXPECT_EQ(ports[1].physical, "Polling");
  EXPECT_EQ(lid_of(found.host1), 1u);
  EXPECT_EQ(lid_of(found.leaf1), 2u);
}

}  // namespace
}  // namespace muster::infiniband
