// The readers and what is concluded from them, on fabrics that were simulated with OpenSM: $MUSTER_DATA/fabric.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>

#include "design/fabric_symptoms.h"
#include "ingest/gunzip.h"
#include "ingest/ib_errors.h"
#include "ingest/ib_links.h"
#include "ingest/ib_net.h"
#include "ingest/opensm_log.h"
#include "predict/route_check.h"
#include "predict/traffic.h"

namespace muster::report {
namespace {

using namespace design;

std::optional<std::string> sample(const std::string& path) {
  const char* data = std::getenv("MUSTER_DATA");
  std::ifstream in(std::string(data != nullptr ? data : "/nowhere") + "/fabric/" + path, std::ios::binary);
  if (!in) return {};
  std::stringstream bytes;
  bytes << in.rdbuf();
  std::string text = bytes.str();
  while (is_gzip(text)) text = gunzip(text).value();
  return text;
}

#define SAMPLE(name, path)        \
  const auto name = sample(path); \
  if (!name) GTEST_SKIP() << path << " of $MUSTER_DATA/fabric is not there"

TEST(FabricSamples, the_tables_of_a_healthy_tree_load_all_links_alike_and_cannot_deadlock) {
  SAMPLE(net, "ft3_1024_k16.net.gz");
  SAMPLE(tables, "samples_1024/opensm-lfts.ft3_1024.ftree.gz.gz");
  const auto fabric = parse_ib_net(*net, "net");
  const auto routes = parse_ib_routes(*tables, "lfts");
  ASSERT_TRUE(fabric.has_value() && routes.has_value());
  const predict::RouteCheck check = predict::route_check(*fabric, *routes);
  EXPECT_EQ(check.pairs, 1024u * 1023);
  EXPECT_EQ(check.unreachable + check.looping, 0u);
  EXPECT_TRUE(check.credit_loop.empty());
  ASSERT_EQ(check.layers.size(), 4u);
  for (const auto& y : check.layers) EXPECT_DOUBLE_EQ(y.mean, static_cast<double>(y.most));
  predict::Router router(*fabric, *routes);
  const auto shifts = predict::shift_traffic(*fabric, router, 100);
  ASSERT_TRUE(shifts.has_value());
  EXPECT_NEAR(shifts->mean, 1, 1e-9);
  EXPECT_TRUE(route_symptoms(*fabric, check, &*shifts).faults.empty());
}

TEST(FabricSamples, a_cable_cut_and_a_routing_engine_that_gave_way_for_it) {
  SAMPLE(log, "samples_1024/opensm.ft3_1024.one_cable_cut.log");
  SAMPLE(net, "ft3_1024_k16.net.gz");
  const auto fabric = parse_ib_net(*net, "net");
  ASSERT_TRUE(fabric.has_value());
  const FabricSymptoms s = log_symptoms(parse_opensm_log(*log), &*fabric);
  ASSERT_EQ(s.faults.size(), 1u);
  EXPECT_EQ(s.faults[0].kind, FabricFaultKind::routing_fallback);
  EXPECT_EQ(s.faults[0].ends, std::vector<std::string>{"leaf-p00-00"});
}

TEST(FabricSamples, a_port_that_went_down_is_the_cable_that_the_design_has_there) {
  SAMPLE(before, "faults_ft2_64/iblinkinfo_before.out");
  SAMPLE(after, "faults_ft2_64/iblinkinfo_cut.out");
  const auto design = links_fabric(parse_ib_links(*before).ports);
  ASSERT_TRUE(design.has_value()) << design.error().what;
  EXPECT_TRUE(link_symptoms(parse_ib_links(*before).ports, &*design).faults.empty());
  const FabricSymptoms s = link_symptoms(parse_ib_links(*after).ports, &*design);
  ASSERT_EQ(s.faults.size(), 1u);
  EXPECT_EQ(s.faults[0].kind, FabricFaultKind::missing_cable);
  EXPECT_EQ(s.faults[0].ends, (std::vector<std::string>{"spine-000[1]", "leaf-000[9]"}));
}

TEST(FabricSamples, counters_that_grew_name_the_cable) {
  SAMPLE(before, "faults_ft2_64/ibqueryerrors_before.out");
  SAMPLE(after, "faults_ft2_64/ibqueryerrors_injected.out");
  SAMPLE(links, "faults_ft2_64/iblinkinfo_before.out");
  const auto fabric = links_fabric(parse_ib_links(*links).ports);
  ASSERT_TRUE(fabric.has_value());
  const CounterReading first = counter_reading(parse_ib_errors(*before)), second = counter_reading(parse_ib_errors(*after));
  EXPECT_TRUE(first.complete && second.complete);
  EXPECT_TRUE(counter_symptoms(&first, first, 60, &*fabric).faults.empty());
  const FabricSymptoms s = counter_symptoms(&first, second, 60, &*fabric);
  ASSERT_EQ(s.faults.size(), 2u);
  EXPECT_EQ(s.faults[0].ends, (std::vector<std::string>{"leaf-000[1]", "gpu0000 mlx5_0[1]"}));
  EXPECT_EQ(s.faults[1].ends, (std::vector<std::string>{"leaf-000[9]", "spine-000[1]"}));
}

TEST(FabricSamples, a_fabric_of_1024_reads_the_same_from_its_links) {
  SAMPLE(links, "samples_1024/iblinkinfo.ft2_1024_rail.gz");
  SAMPLE(net, "samples_1024/ibnetdiscover.ft2_1024_rail.gz");
  const IbLinks read = parse_ib_links(*links);
  EXPECT_EQ(read.not_understood, 0u);
  const auto a = links_fabric(read.ports), b = parse_ib_net(*net, "net");
  ASSERT_TRUE(a.has_value() && b.has_value());
  EXPECT_EQ(a->nodes.size(), b->nodes.size());
  EXPECT_EQ(a->links.size(), b->links.size());
  EXPECT_EQ(a->endpoints().size(), 1024u);
  EXPECT_TRUE(link_symptoms(read.ports, &*b).faults.empty());
}

}  // namespace
}  // namespace muster::report
