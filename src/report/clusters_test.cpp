#include "report/clusters.h"

#include <gtest/gtest.h>

#include "ingest/cluster_file.h"

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

}  // namespace
}  // namespace muster::report
