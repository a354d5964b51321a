#include "report/fabric_changes.h"

#include <gtest/gtest.h>

#include "ingest/json.h"
#include "report/units.h"

namespace muster::report {
namespace {

// `leaves` leaves of two hosts below a spine.
Fabric tree(std::uint32_t leaves, const std::string& leaf_name = "leaf") {
  Fabric f;
  const std::uint32_t spine = f.add({"spine0", 999'999, true, {}});
  for (std::uint32_t l = 0; l < leaves; ++l) {
    const std::uint32_t leaf = f.add({leaf_name + std::to_string(l), 100'000 + l, true, {}});
    for (std::uint32_t h = 0; h < 2; ++h) {
      const std::uint32_t e = f.add({"gpu" + std::to_string(2 * l + h) + " mlx5_0", 1 + 2 * l + h, false, {}});
      f.connect(leaf, static_cast<std::uint16_t>(1 + h), e, 1, 25, 4);
    }
    f.connect(leaf, 3, spine, static_cast<std::uint16_t>(1 + l), 25, 4);
  }
  return f;
}

// Every uplink runs slower than designed, at a rate of its own.
std::string told(const Fabric& design, double slower) {
  design::FabricWatch watch(design);
  design::FabricReading r;
  r.at_s = 1;
  r.found.fabric = design;
  double rate = 1;
  for (std::size_t i = 0; i < design.links.size(); i += 2) {
    if (design.nodes[design.links[i].to].is_switch && slower > 0) {
      r.found.fabric.links[i].gb_s = r.found.fabric.links[i + 1].gb_s = rate;
      rate += slower;
    }
  }
  watch.take(std::move(r));
  return fabric_told_json(watch, design::FabricHosts(design));
}

TEST(FabricChanges, a_line_always_names_the_ends) {
  const FabricFault dead{FabricFaultKind::dead_switch, {"leaf3"}, "it does not answer", 0.9, "look at its power"};
  EXPECT_EQ(render_fabric_change({design::FabricChangeKind::fault, dead}, {}, false),
            "1970-01-01T00:00:00Z  fault  dead_switch  leaf3  it does not answer; do: look at its power\n");
  EXPECT_EQ(render_fabric_change({design::FabricChangeKind::over, dead, 90}, {}, false),
            "1970-01-01T00:00:00Z  over   dead_switch  leaf3  after 1m 30s\n");
  FabricFault many = dead;
  for (int i = 0; i < 40; ++i) many.ends.push_back("leaf" + std::to_string(i));
  EXPECT_NE(render_fabric_change({design::FabricChangeKind::fault, many}, {}, false).find("and 33 more"), std::string::npos);
  const FabricFault lost{FabricFaultKind::incomplete_discovery, {}, "answers were lost", 0.9, ""};
  EXPECT_NE(render_fabric_change({design::FabricChangeKind::fault, lost}, {}, false).find("  the whole fabric  answers"),
            std::string::npos);
}

TEST(FabricTold, HasWhomEachFaultTouches) {
  EXPECT_EQ(told(tree(2), 0), R"({"fabric":{"judged":[],"faults":[],"left_out":0,"complete":true}})");
  const auto v = parse_json(told(tree(2), 0.5));
  ASSERT_TRUE(v);
  const Value& fabric = *v->find("fabric");
  ASSERT_EQ(list_of(fabric, "faults").size(), 2U) << told(tree(2), 0.5);
  const Value& first = list_of(fabric, "faults")[0];
  EXPECT_EQ(text_of(first, "kind"), "degraded_link");
  EXPECT_FALSE(text_of(first, "fix").empty()) << "what to do goes with it";
  EXPECT_EQ(list_of(first, "ends").size(), 2U);
  ASSERT_EQ(list_of(first, "nodes").size(), 2U);
  EXPECT_EQ(*list_of(first, "nodes")[0].string(), "gpu0");
  EXPECT_EQ(*list_of(first, "nodes")[1].string(), "gpu1");
  EXPECT_TRUE(*fabric.find("complete")->boolean());
}

TEST(FabricTold, HasTheNetworksNameAndWhatCouldBeJudged) {
  const Fabric design = tree(2);
  const design::FabricHosts hosts(design);
  design::FabricWatch watch(design, 60);
  const auto read = [&](double at_s) {
    design::FabricReading r;
    r.at_s = at_s;
    r.found.fabric = design;
    r.counters.emplace().complete = true;
    watch.take(std::move(r));
    return fabric_told_json(watch, hosts, "rail3");
  };
  const std::string rest = R"("faults":[],"left_out":0,"complete":true}})";
  EXPECT_EQ(read(10), R"({"fabric":{"name":"rail3","judged":[],)" + rest);
  EXPECT_EQ(read(40), R"({"fabric":{"name":"rail3","judged":["rates"],)" + rest);
  EXPECT_EQ(read(70), R"({"fabric":{"name":"rail3","judged":["rates","flaps"],)" + rest);
  EXPECT_EQ(fabric_told_json(watch, hosts, {}, 30), R"({"fabric":{"every_s":30,"judged":["rates","flaps"],)" + rest);
}

TEST(FabricTold, IsNoMoreThanAControllerTakes) {
  const std::string text = told(tree(1200, std::string(120, 'x') + "\x1b"), 0.001);
  EXPECT_LT(text.size(), std::size_t{1} << 20);
  const auto v = parse_json(text);
  ASSERT_TRUE(v);
  const Value& fabric = *v->find("fabric");
  const auto& faults = list_of(fabric, "faults");
  EXPECT_LE(faults.size(), 1000U);
  EXPECT_EQ(*fabric.find("left_out")->integer(), static_cast<std::int64_t>(1200 - faults.size()));
  EXPECT_FALSE(*fabric.find("complete")->boolean()) << "what was left out is not over";
  for (const Value& f : faults) {
    for (const Value& end : list_of(f, "ends")) {
      EXPECT_LE(end.string()->size(), 128U);
      EXPECT_EQ(end.string()->find('\x1b'), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace muster::report
