#include "design/storage.h"

#include <gtest/gtest.h>

namespace muster::design {
namespace {

StoreKind kind(const char* name, double read, double write, double pb, std::uint32_t least = 2) {
  StoreKind k;
  k.name = name;
  k.read_gb_s = read;
  k.write_gb_s = write;
  k.usable_pb = pb;
  k.least = least;
  k.ports = 4;
  return k;
}

HardwarePrices prices() {
  HardwarePrices p;
  p.store_pb = {{"fast", 300e3}, {"deep", 200e3}};
  p.storage_switch = 36e3;
  return p;
}

TEST(Storage, BlocksAreEnoughForEachNeed) {
  const StoreKind kinds[] = {kind("fast", 100, 50, 0.25), kind("deep", 40, 20, 1)};
  for (const StorageNeed& need : {StorageNeed{0, 0, 0}, {900, 10, 0.1}, {10, 900, 0.1}, {10, 10, 9}, {51.2, 94.5, 0.945}}) {
    const auto sized = size_stores(kinds, false, need, prices());
    ASSERT_TRUE(sized);
    ASSERT_EQ(sized->size(), 2U);
    EXPECT_LE((*sized)[0].usd, (*sized)[1].usd) << "the cheapest first";
    for (const SizedStore& s : *sized) {
      EXPECT_GE(s.read_gb_s(), need.read_gb_s);
      EXPECT_GE(s.write_gb_s(), need.write_gb_s);
      EXPECT_GE(s.pb(), need.pb);
      EXPECT_GE(s.blocks, 2U);
      const std::uint32_t fewer = s.blocks - 1;
      EXPECT_TRUE(fewer < 2 || fewer * s.kind.read_gb_s < need.read_gb_s || fewer * s.kind.write_gb_s < need.write_gb_s ||
                  fewer * s.kind.usable_pb < need.pb)
          << "and none too many";
    }
  }
  EXPECT_EQ(size_stores(kinds, false, {10, 900, 0.1}, prices())->front().bound, "writing");
  EXPECT_EQ(size_stores(kinds, false, {10, 10, 9}, prices())->front().bound, "capacity");
  const StoreKind other[] = {kind("other", 1, 1, 1)};
  EXPECT_EQ(size_stores(other, false, {}, prices()).error().what, "no price of a store of the kind other is known");
}

TEST(Storage, ItsNetworkCarriesItWithASpineGone) {
  const StoreKind kinds[] = {kind("fast", 100, 50, 0.25)};
  double before = 5;
  for (const double gb_s : {10.0, 2000.0, 9000.0, 30000.0}) {
    const auto sized = size_stores(kinds, false, {gb_s, 0, 0}, prices());
    const StorageNetwork n = storage_network(512, *sized, gb_s, 64, 50, prices());
    EXPECT_EQ(n.ports, 1024 + 4 * (*sized)[0].blocks);
    EXPECT_LE(n.oversubscription, before) << "the more is read, the wider";
    before = n.oversubscription;
    EXPECT_TRUE(n.oversubscription == 1 || n.uplinks * 50.0 >= gb_s);
    EXPECT_GE(n.switches * 64, n.ports + 2 * n.uplinks) << "every cable has its two ports";
  }
  EXPECT_EQ(storage_network(4, {}, 1, 64, 50, prices()).switches, 2U) << "one may fail";
}

TEST(Storage, SparesCoverRepairs) {
  EXPECT_EQ(spares_for(0, 0.3, 10), 0U);
  EXPECT_EQ(spares_for(128, 0.32, 10), 4U) << "1.1 away on average";
  EXPECT_GT(spares_for(1280, 0.32, 10), 15U);
  EXPECT_LT(spares_for(1280, 0.32, 10), 25U) << "many share their bad luck";
  EXPECT_NEAR(spares_for(1e6, 0.32, 10), 8767 + 218, 5);
}

}  // namespace
}  // namespace muster::design
