#include "report/clusters.h"

#include <gtest/gtest.h>

#include <array>

#include "ingest/cluster_file.h"
#include "report/document.h"

namespace muster::report {
namespace {

// What is emitted is a cluster file, with as many GPUs as were asked for.
TEST(ClusterReport, TheTwinCanReadIt) {
  for (const auto& [gpu, node_gpus, nodes, per_rack] :
       {std::tuple("h200", 8U, 128U, 3U), std::tuple("gb200", 4U, 288U, 18U), std::tuple("h100", 8U, 1U, 3U)}) {
    for (const design::FabricKind kind : {design::FabricKind::rail, design::FabricKind::fat_tree}) {
      design::ClusterDesign d;
      d.gpu = gpu;
      d.node_gpus = node_gpus;
      d.nodes = nodes;
      d.gpus = nodes * node_gpus;
      d.nodes_per_rack = per_rack;
      d.fabric = {kind, nodes, node_gpus, 64, 0, 1, 50};
      d.write_gb_s = 80;
      d.bisection = 0.375;
      const std::string text = render_cluster_file(d);
      const auto site = parse_cluster(text, "c.yaml");
      ASSERT_TRUE(site) << site.error().what << "\n" << text;
      EXPECT_EQ(site->gpus(), d.gpus);
      EXPECT_NEAR(site->oversubscription, 1 / 0.375, 0.01);
    }
  }
}

TEST(ClusterReport, ColumnsAreAsManyAsCells) {
  design::ClusterDesign d;
  d.gpu = "h100";
  const design::ClusterDesign all[] = {d, d};
  const Table t = cluster_table(all);
  for (const auto& row : t.rows) EXPECT_EQ(row.size(), t.columns.size());
  EXPECT_GE(say_cluster(d, 4).size(), 5U);
}

// {capital, days; 0: no run, petaflops} -> whether each is marked as one that none is cheaper and faster than.
std::vector<bool> fronts(const std::vector<std::array<double, 3>>& of) {
  design::ClusterDesigns all;
  for (const auto& [usd, days, pflops] : of) {
    design::ClusterDesign d;
    d.gpu = "h100";
    d.gpus = 64;
    d.servers_usd = usd;
    d.peak_pflops = pflops;
    if (days > 0) d.run = design::WholeRun{.s = days * 86'400, .gpu_hours = 64 * 24 * days};
    all.designs.push_back(std::move(d));
  }
  const Value v = clusters_value(all, 4);
  std::vector<bool> out;
  for (const Value& d : *v.find("designs")->array()) out.push_back(*d.find("front")->boolean());
  return out;
}

TEST(ClusterReport, TheFrontIsOfMoneyAndDaysOrOfMoneyAndPeak) {
  EXPECT_EQ(fronts({{10, 60, 1}, {20, 30, 1}, {25, 40, 9}}), (std::vector<bool>{true, true, false}));
  EXPECT_EQ(fronts({{10, 0, 5}, {20, 0, 9}, {25, 0, 9}}), (std::vector<bool>{true, true, false}));
}

TEST(ClusterReport, JsonHasMoneyInPartsAndWords) {
  design::ClusterDesigns all;
  design::ClusterDesign d;
  d.gpu = "h200";
  d.gpus = 1000;
  d.servers_usd = 30e6;
  d.network_usd = 4e6;
  d.yearly_usd = 2e6;
  d.run = design::WholeRun{.s = 86'400, .gpu_hours = 24'000};
  all.designs = {d};
  all.left_out = {"gb200 is left out: <because>"};
  const Value v = clusters_value(all, 3);
  const std::string json = render_json_line(v);
  for (const char* part :
       {R"("number":1)", R"("usd":40000000)", R"("capital_usd":34000000)", R"("servers":30000000)",
        R"("hall_and_people":6000000)", R"("days":1)", R"("front":true)", R"("left_out":["gb200 is left out)"}) {
    EXPECT_NE(json.find(part), std::string::npos) << part << " in " << json;
  }
  double hour = 0, run = 0;
  const Value& one = v.find("designs")->array()->front();
  ASSERT_TRUE(one.find("usd_per_gpu_hour")->number(hour) && one.find("run_usd")->number(run));
  EXPECT_NEAR(hour, 40e6 / (3 * 8766.0 * 1000), 1e-9);
  EXPECT_NEAR(run, 24'000 * hour, 1e-6);
  EXPECT_GE(one.find("lines")->array()->size(), 5U);
}

}  // namespace
}  // namespace muster::report
