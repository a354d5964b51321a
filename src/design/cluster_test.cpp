#include "design/cluster.h"

#include <gtest/gtest.h>

namespace muster::design {
namespace {

GpuModel h100() {
  GpuModel g;
  g.name = "h100";
  g.bf16_tflops = 989;
  g.hbm_gb = 80;
  g.hbm_tb_s = 3.35;
  g.nvlink_gb_s = 450;
  g.domain = 8;
  g.nvls = true;
  g.sms = 132;
  g.nic_gb_s = 50;
  g.tdp_w = 700;
  return g;
}

ClusterAsk ask() {
  ClusterAsk a;
  Transformer& m = a.model;
  m.name = "llama3-70b";
  m.layers = 80;
  m.hidden = 8192;
  m.heads = 64;
  m.kv_heads = 8;
  m.head_dim = 128;
  m.ffn = 28672;
  m.gated = true;
  m.vocab = 128256;
  a.choices = {{h100(), {}}};
  a.prices.gpu["h100"] = 38750;
  a.prices.switch_usd = 36000;
  a.prices.transceiver = 750;
  a.prices.copper_cable = 150;
  a.prices.active_cable = 600;
  a.prices.fibre = 60;
  a.prices.store_pb = {{"files", 250000}, {"better", 400000}, {"objects", 60000}};
  a.prices.storage_switch = 36000;
  a.stores = {{"files", false, 90, 60, 0.25, 2, 2, 8, 2, ""},
              {"better", false, 90, 60, 0.25, 2, 2, 8, 2, ""},
              {"objects", true, 10, 5, 0.5, 1, 2, 2, 8, ""}};
  a.prices.hall_kw_month = 200;
  a.prices.people_year = 1e6;
  return a;
}

TEST(ClusterDesign, PartsAddUp) {
  ClusterAsk a = ask();
  a.gpus = 1024;
  const auto found = design_clusters(a);
  ASSERT_TRUE(found) << found.error().what;
  ASSERT_EQ(found->designs.size(), 3U);
  for (const ClusterDesign& d : found->designs) {
    EXPECT_EQ(d.nodes * d.node_gpus, 1024U);
    const auto fabric = build_fabric(d.fabric);
    ASSERT_TRUE(fabric);
    EXPECT_EQ(d.cables.copper + d.cables.active + d.cables.fibre, fabric->links.size() / 2) << "every cable has a length";
    EXPECT_EQ(d.transceivers, 2 * d.cables.fibre);
    EXPECT_NEAR(d.servers_usd, 1024 * 38750.0, 1);
    EXPECT_GT(d.network_usd, 0.02 * d.servers_usd);
    EXPECT_LT(d.network_usd, 0.25 * d.servers_usd);
    EXPECT_NEAR(d.it_mw, 1024 * 0.7 * 1.82 / 1000, 0.1);
    EXPECT_GT(d.mw, d.it_mw);
    EXPECT_GE(d.hops, 1);
    EXPECT_LE(d.hops, 5);
    EXPECT_LE(d.one_down, d.bisection + 0.02);
    EXPECT_GT(d.all_reduce_s, 2.0 * (1 << 30) / 450e9);
    ASSERT_EQ(d.stores.size(), 2U);
    EXPECT_EQ(d.stores[0].kind.name, "files") << "the cheaper of two alike";
    EXPECT_GE(d.stores[0].write_gb_s(), d.write_gb_s);
    EXPECT_GE(d.stores[0].read_gb_s(), d.read_gb_s);
    EXPECT_EQ(d.spare_nodes, 4U) << "ten days of 41 failures a year";
    EXPECT_NEAR(d.capital_usd(), d.servers_usd + d.network_usd + d.storage_usd + d.spares_usd, 1);
  }
  EXPECT_LT(found->designs[0].capital_usd(), found->designs[1].capital_usd() + 1) << "cheapest first";
  const auto narrow = std::find_if(found->designs.begin(), found->designs.end(),
                                   [](const ClusterDesign& d) { return d.fabric.oversubscription > 1; });
  const auto wide = std::find_if(found->designs.begin(), found->designs.end(),
                                 [](const ClusterDesign& d) { return d.fabric.oversubscription == 1; });
  EXPECT_LT(narrow->switches, wide->switches);
  EXPECT_LT(narrow->bisection, wide->bisection - 0.2) << "three ports down for one up";
  EXPECT_TRUE(std::any_of(found->designs.begin(), found->designs.end(), [](const ClusterDesign& d) { return d.front; }));
}

TEST(ClusterDesign, ARunIsDoneInTime) {
  ClusterAsk a = ask();
  a.tokens = 1e12;
  a.days = 30;
  const auto found = design_clusters(a);
  ASSERT_TRUE(found) << found.error().what;
  for (const ClusterDesign& d : found->designs) {
    ASSERT_TRUE(d.run);
    EXPECT_LE(d.run->s / 86'400, 30);
    EXPECT_GT(d.run->s / 86'400, 10) << "no more than is needed, but for whole sizes";
    EXPECT_GE(d.write_gb_s * 60e9, a.model.params() * 14 * 0.999);
  }
  a.days = 0.02;
  const auto never = design_clusters(a);
  ASSERT_FALSE(never);
  EXPECT_NE(never.error().what.find("none of these GPUs trains llama3-70b"), std::string::npos) << never.error().what;
}

TEST(ClusterDesign, LiquidCoolingCostsLess) {
  ClusterAsk a = ask();
  a.gpus = 1024;
  const auto air = design_clusters(a);
  a.cooling = Cooling::liquid;
  const auto liquid = design_clusters(a);
  ASSERT_TRUE(air && liquid);
  EXPECT_LT(liquid->designs[0].mw, 0.9 * air->designs[0].mw);
  EXPECT_LT(liquid->designs[0].yearly_usd, 0.95 * air->designs[0].yearly_usd);
  EXPECT_LT(liquid->designs[0].racks, air->designs[0].racks);
  a.choices[0].gpu.domain = 72;
  a.gpus = 1152;
  a.cooling = Cooling::air;
  EXPECT_EQ(design_clusters(a)->designs[0].cooling, Cooling::liquid) << "a rack of 72 is not cooled by air";
}

TEST(ClusterDesign, TheStoreThatIsWanted) {
  ClusterAsk a = ask();
  a.gpus = 1024;
  a.store = "better";
  const auto found = design_clusters(a);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->designs[0].stores[0].kind.name, "better");
  EXPECT_EQ(found->designs[0].stores.size(), 2U) << "with what it could have been";
  a.feed_gb_s = 2;
  EXPECT_GE(design_clusters(a)->designs[0].stores[0].read_gb_s(), 2048);
  a.feed_gb_s = 20;
  EXPECT_EQ(design_clusters(a).error().next, "--feed 12.5 or less") << "two ports of 50 GB/s for eight GPUs";
  a.feed_gb_s = 2;
  a.store = "tape";
  EXPECT_EQ(design_clusters(a).error().what, "no store of the kind tape is known");
}

TEST(ClusterDesign, RoomToGrow) {
  ClusterAsk a = ask();
  a.gpus = 1024;
  const auto now = design_clusters(a);
  a.grow_to = 16384;
  const auto later = design_clusters(a);
  ASSERT_TRUE(now && later) << later.error().what;
  EXPECT_EQ(now->designs.front().fabric.levels, 0U);
  EXPECT_EQ(later->designs.front().fabric.levels, 3U) << "a third level from the start, so that no cable is pulled twice";
  EXPECT_FALSE(now->designs.front().growth);
  ASSERT_TRUE(later->designs.front().growth);
  EXPECT_EQ(later->designs.front().growth->nodes, (16384U - 1024) / 8);
  EXPECT_GT(later->designs.front().growth->usd, 15360 * 38750.0);
  EXPECT_GT(later->designs.front().growth->switches, 100U);
}

TEST(ClusterDesign, ContradictionsAreSaid) {
  ClusterAsk a = ask();
  EXPECT_EQ(design_clusters(a).error().what, "either a run with its days, or a number of GPUs");
  a.gpus = 512;
  a.grow_to = 256;
  EXPECT_EQ(design_clusters(a).error().what, "512 GPUs do not grow to 256");
  a.grow_to = 0;
  a.prices.gpu.clear();
  EXPECT_EQ(design_clusters(a).error().what, "no price of h100 is known");
  a = ask();
  a.gpus = 12;
  EXPECT_EQ(design_clusters(a).error().what, "12 GPUs are no whole NVLink domains of 8");
  EXPECT_EQ(design_clusters(a).error().next, "--gpus 8 or 16");
  a = ask();
  a.gpus = 65536;
  a.radix = 8;
  EXPECT_NE(design_clusters(a).error().what.find("reach"), std::string::npos) << "switches too small for them";
}

TEST(ClusterDesign, ItIsGivenUpWhenTold) {
  ClusterAsk a = ask();
  a.tokens = 1e12;
  a.days = 60;
  a.give_up = [] { return true; };
  const auto found = design_clusters(a);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::refused);
}

}  // namespace
}  // namespace muster::design
