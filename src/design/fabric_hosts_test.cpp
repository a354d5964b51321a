#include "design/fabric_hosts.h"

#include <gtest/gtest.h>

namespace muster::design {
namespace {

using Kind = FabricFaultKind;
using Names = std::vector<std::string>;

// Two leaves of two hosts with two cards each, below a spine; one leaf has a port of its own that is no card.
Fabric small() {
  Fabric f;
  for (const char* name : {"leaf0", "leaf1", "spine0"}) f.add({name, 100 + f.nodes.size(), true, {}});
  std::uint16_t port = 1;
  for (int h = 0; h < 4; ++h) {
    for (int c = 0; c < 2; ++c) {
      const std::uint32_t e = f.add({"gpu" + std::to_string(h) + " mlx5_" + std::to_string(c), 1U + f.nodes.size(), false, {}});
      f.connect(static_cast<std::uint32_t>(h / 2), port++, e, 1, 25, 4);
    }
  }
  const std::uint32_t own = f.add({"Mellanox Technologies Aggregation Node", 77, false, {}});
  f.connect(0, 30, own, 1, 25, 4);
  for (std::uint16_t leaf = 0; leaf < 2; ++leaf) f.connect(leaf, 31, 2, static_cast<std::uint16_t>(1 + leaf), 25, 4);
  return f;
}

Names touched(Kind kind, Names ends) { return FabricHosts(small()).touched({kind, std::move(ends), {}, 1, {}}); }

TEST(FabricHosts, AHostAtAnEndIsTheOneThatIsTouched) {
  EXPECT_EQ(touched(Kind::missing_cable, {"gpu1 mlx5_0[1]", "leaf0[3]"}), (Names{"gpu1"}));
  EXPECT_EQ(touched(Kind::swapped_cables, {"gpu3 mlx5_0[1]", "leaf0[3]", "gpu0 mlx5_1[1]", "leaf1[5]"}), (Names{"gpu0", "gpu3"}));
  EXPECT_EQ(touched(Kind::dead_host, {"gpu2", "leaf1[5]", "leaf1[6]"}), (Names{"gpu2"}));
}

TEST(FabricHosts, BehindALeafAreItsHosts) {
  EXPECT_EQ(touched(Kind::dead_switch, {"leaf0"}), (Names{"gpu0", "gpu1"}));
  EXPECT_EQ(touched(Kind::missing_cable, {"leaf1[31]", "spine0[2]"}), (Names{"gpu2", "gpu3"}));
  EXPECT_EQ(touched(Kind::swapped_cables, {"leaf1[31]", "spine0[2]", "leaf0[31]", "spine0[1]"}),
            (Names{"gpu0", "gpu1", "gpu2", "gpu3"}));
}

TEST(FabricHosts, NobodyIsBehindASpineOrAStranger) {
  EXPECT_TRUE(touched(Kind::dead_switch, {"spine0"}).empty());
  EXPECT_TRUE(touched(Kind::extra_cable, {"leaf7[1]", "Mellanox Technologies Aggregation Node[1]"}).empty());
  EXPECT_TRUE(touched(Kind::incomplete_discovery, {}).empty());
}

TEST(FabricHosts, ANameThatSeveralBearIsToldWithItsGuid) {
  Fabric f = small();
  f.nodes[1].name = "leaf0";
  const FabricHosts hosts(f);
  EXPECT_EQ(hosts.touched({Kind::dead_switch, {"leaf0 (0x0000000000000065)"}, {}, 1, {}}), (Names{"gpu2", "gpu3"}));
  EXPECT_TRUE(hosts.touched({Kind::dead_switch, {"leaf0"}, {}, 1, {}}).empty());
}

}  // namespace
}  // namespace muster::design
