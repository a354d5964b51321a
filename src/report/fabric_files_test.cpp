#include "report/fabric_files.h"

#include <gtest/gtest.h>

#include <map>

#include "ingest/csv.h"
#include "ingest/ib_net.h"
#include "ingest/json.h"
#include "ingest/slurm_text.h"

namespace muster::report {
namespace {

design::FabricPlan planned(design::FabricAsk fabric, std::vector<std::uint32_t> grow = {}) {
  design::FabricPlanAsk a;
  a.fabric = fabric;
  a.grow = std::move(grow);
  a.prices.switch_usd = 36'000;
  a.prices.sources["switch"] = "prices.csv:9: a \"street\" price";
  return design::plan_fabric(std::move(a)).value();
}

std::map<std::string, std::string> files_of(const design::FabricPlan& plan, const FabricFileWishes& w = {}) {
  std::map<std::string, std::string> out;
  auto files = fabric_files(plan, w).value();
  for (TextFile& f : files) out[f.name] = std::move(f.text);
  return out;
}

const design::FabricAsk kRail{.kind = design::FabricKind::rail, .nodes = 8, .nics = 4, .radix = 16, .gb_s = 50};

TEST(FabricFiles, AllOfThemAreThereAndThoseOfEachStep) {
  const auto files = files_of(planned(kRail, {16}));
  for (const char* name : {"cables.csv", "node_cables.csv", "fabric.net", "expected_ibnetdiscover.txt", "opensm.conf",
                           "root_guids.txt", "topology.conf", "topology.yaml", "node_labels.yaml"}) {
    EXPECT_TRUE(files.contains(name)) << name;
    EXPECT_TRUE(files.contains(std::string("grow-16/") + name)) << name;
  }
  EXPECT_TRUE(files.contains("nccl_topology.xml"));
  EXPECT_TRUE(files.contains("summary.json"));
}

// ibsim boots the one, and a real fabric prints the other: they differ in speed alone.
TEST(FabricFiles, BothNetFilesAreTheSameNetwork) {
  const auto plan = planned(kRail);
  const auto files = files_of(plan);
  const auto booted = parse_ib_net(files.at("fabric.net"), "fabric.net");
  const auto real = parse_ib_net(files.at("expected_ibnetdiscover.txt"), "expected");
  ASSERT_TRUE(booted) << booted.error().what;
  ASSERT_TRUE(real) << real.error().what;
  ASSERT_EQ(booted->links.size(), real->links.size());
  EXPECT_EQ(real->links.size(), plan.whole.links.size());
  EXPECT_EQ(booted->links.front().gb_s, 25);
  EXPECT_EQ(real->links.front().gb_s, 50);
  EXPECT_NE(files.at("fabric.net").find("they are 4xNDR"), std::string::npos) << "and says so";
  EXPECT_NE(files.at("fabric.net").find("Switch\t16 \"S-"), std::string::npos) << "a switch has all its ports";
  EXPECT_NE(files.at("expected_ibnetdiscover.txt").find("# Topology file:"), std::string::npos);
}

TEST(FabricFiles, CablesNameBothEndsAndStepsOnlyWhatTheyAdd) {
  const auto plan = planned(kRail, {16});
  const auto files = files_of(plan);
  const auto now = parse_csv(files.at("cables.csv"), "cables.csv"), later = parse_csv(files.at("grow-16/cables.csv"), "later");
  ASSERT_TRUE(now && later);
  EXPECT_EQ(now->rows.size(), plan.steps[0].all_cables());
  EXPECT_EQ(later->rows.size(), plan.steps[1].added.cables);
  EXPECT_EQ(now->cell(0, "a"), "node00000 mlx5_0");
  EXPECT_EQ(now->cell(0, "b"), "leaf-u00-r0");
  EXPECT_EQ(now->cell(0, "a_unit"), "U01");
  EXPECT_EQ(now->cell(0, "rate"), "4xNDR");
  EXPECT_EQ(now->cell(0, "label"), "C-000001");
  const auto nodes = parse_csv(files.at("grow-16/node_cables.csv"), "node_cables.csv");
  ASSERT_TRUE(nodes);
  EXPECT_EQ(nodes->rows.size(), 64U) << "a cluster file wants all of them";
  EXPECT_EQ(nodes->cell(5, "nic"), "mlx5_1");
}

TEST(FabricFiles, OpenSmIsToldTheRoots) {
  const auto plan = planned({.nodes = 20, .nics = 1, .radix = 8, .levels = 3});
  const auto files = files_of(plan, {.opensm_folder = "/opt/sm"});
  EXPECT_NE(files.at("opensm.conf").find("\nrouting_engine ftree,updn\nroot_guid_file /opt/sm/root_guids.txt\n"),
            std::string::npos);
  const std::string& roots = files.at("root_guids.txt");
  EXPECT_EQ(static_cast<std::size_t>(std::count(roots.begin(), roots.end(), '\n')), plan.steps[0].switches[2]);
  EXPECT_TRUE(roots.starts_with("0x"));
  const auto one = files_of(planned({.nodes = 2, .nics = 2, .radix = 8}));
  EXPECT_NE(one.at("opensm.conf").find("routing_engine minhop\n"), std::string::npos);
  const auto groups = files_of(planned({.kind = design::FabricKind::dragonfly, .nodes = 20, .nics = 1, .radix = 11}));
  EXPECT_NE(groups.at("opensm.conf").find("routing_engine dfsssp,lash\nqos TRUE\n"), std::string::npos);
  EXPECT_FALSE(groups.contains("root_guids.txt"));
}

TEST(FabricFiles, SlurmReadsItsTopology) {
  const auto files = files_of(planned(kRail, {16}));
  const auto rows = slurm::parse_topology(files.at("grow-16/topology.conf"));
  ASSERT_TRUE(rows) << rows.error().what;
  ASSERT_EQ(rows->size(), 3U);
  EXPECT_EQ(rows->front().nodes, "node[00000-00007]");
  EXPECT_EQ(rows->back().switches, "leaf-u00-r0,leaf-u01-r0");
  EXPECT_NE(files.at("grow-16/topology.yaml").find("        children: leaf-u00-r0,leaf-u01-r0\n"), std::string::npos);
}

TEST(FabricFiles, EachCardIsBesideItsGpu) {
  const std::string xml = render_nccl_topology({.nodes = 1, .nics = 8, .gb_s = 50});
  EXPECT_NE(xml.find("<net name=\"mlx5_7\" dev=\"7\" speed=\"400000\""), std::string::npos);
  EXPECT_NE(xml.find("<cpu numaid=\"1\""), std::string::npos);
  EXPECT_EQ(render_nccl_topology({.nodes = 1, .nics = 1}).find("numaid=\"1\""), std::string::npos);
}

TEST(FabricFiles, TheSummaryHasThePromiseAndThePrices) {
  const auto plan = planned(kRail, {16});
  const auto read = parse_json(render_fabric_summary(plan));
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_NE(render_fabric_summary(plan).find("\"shift_share\":1,"), std::string::npos);
  EXPECT_EQ(read->find("steps")->array()->size(), 2U);
  const std::string text = render_fabric_summary(plan);
  EXPECT_NE(text.find("\"source\":\"prices.csv:9: a \\\"street\\\" price\""), std::string::npos);
  EXPECT_EQ(fabric_plan_table(plan).rows.size(), 2U);
  for (const auto& row : fabric_bill_table(plan).rows) EXPECT_EQ(row.size(), 6U);
}

}  // namespace
}  // namespace muster::report
