#include "ingest/openb_file.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/prng.h"

namespace muster {
namespace {

constexpr std::string_view kNodes =
    "sn,cpu_milli,memory_mib,gpu,model\n"
    "node-0,64000,262144,2,P100\n"
    "node-1,96000,393216,8,G2\n"
    "node-2,32000,65536,0,\n";
constexpr std::string_view kPods =
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos\n"
    "pod-0,12000,16384,1,1000,,LS\n"
    "pod-1,6000,12288,1,460,V100M32|T4|V100M32,LS\n"
    "pod-2,20000,65536,0,0,,LS\n"
    "pod-3,88000,327680,8,1000,G2,BE\n";

TEST(OpenbFile, ReadsNodes) {
  const auto nodes = parse_openb_nodes(kNodes, "nodes.csv");
  ASSERT_TRUE(nodes.has_value()) << nodes.error().what;
  ASSERT_EQ(nodes->size(), 3u);
  EXPECT_EQ((*nodes)[1].name, "node-1");
  EXPECT_EQ((*nodes)[1].cpu_milli, 96000);
  EXPECT_EQ((*nodes)[1].memory_mib, 393216);
  EXPECT_EQ((*nodes)[1].gpus, 8);
  EXPECT_EQ((*nodes)[1].model, "G2");
  EXPECT_EQ((*nodes)[2].gpus, 0);
}

TEST(OpenbFile, ReadsPodsWithTheModelsTheyAccept) {
  const auto pods = parse_openb_pods(kPods, "pods.csv");
  ASSERT_TRUE(pods.has_value()) << pods.error().what;
  ASSERT_EQ(pods->size(), 4u);
  EXPECT_EQ((*pods)[1].gpu_milli, 460);
  EXPECT_EQ((*pods)[1].models, (std::vector<std::string>{"T4", "V100M32"}));  // named twice in the trace: once here
  EXPECT_TRUE((*pods)[0].models.empty());
  EXPECT_EQ((*pods)[2].gpus, 0);
  EXPECT_EQ((*pods)[3].gpus, 8);
}

TEST(OpenbFile, ListsWithoutModelConstraintsLackTheColumn) {
  const auto pods = parse_openb_pods("name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1,1,1,1000\n", "pods.csv");
  ASSERT_TRUE(pods.has_value()) << pods.error().what;
  EXPECT_TRUE(pods->front().models.empty());
}

std::string error_of(std::string_view pods) {
  const auto r = parse_openb_pods(pods, "p.csv");
  return r.has_value() ? "no error" : r.error().what;
}

TEST(OpenbFile, ErrorsNameFileLineAndCell) {
  const std::string head = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\nok,1,1,0,0\n";
  EXPECT_EQ(error_of(head + "p,x,1,1,1000\n"), "p.csv:3: cpu_milli must be a whole number from 0 to 1000000000, is 'x'");
  EXPECT_EQ(error_of(head + "p,1,-1,1,1000\n"), "p.csv:3: memory_mib must be a whole number from 0 to 1000000000, is '-1'");
  EXPECT_EQ(error_of(head + "p,1,1,17,1000\n"), "p.csv:3: num_gpu must be a whole number from 0 to 16, is '17'");
  EXPECT_EQ(error_of(head + "p,1,1,1,1001\n"), "p.csv:3: gpu_milli must be a whole number from 0 to 1000, is '1001'");
  EXPECT_EQ(error_of(head + "p,1,1,1,0\n"), "p.csv:3: gpu_milli is 0, but num_gpu is not");
  EXPECT_EQ(error_of(head + "p,1,1,2,500\n"), "p.csv:3: several GPUs must be whole ones: gpu_milli 1000");
  EXPECT_EQ(error_of(head + "p,1,1,2\n"), "p.csv:3: 4 cells, the header has 5");
  EXPECT_EQ(error_of("name,cpu_milli\np,1\n"), "p.csv:1: no column memory_mib");
  EXPECT_EQ(error_of("name,cpu_milli,memory_mib,num_gpu,gpu_milli\n"), "p.csv:1: no rows after the header");
  EXPECT_EQ(error_of(""), "p.csv:1: no header line");
  const auto nodes = parse_openb_nodes("sn,cpu_milli,memory_mib,gpu,model\nn,1,1,1,\n", "n.csv");
  ASSERT_FALSE(nodes.has_value());
  EXPECT_EQ(nodes.error().what, "n.csv:2: a node with GPUs must name their model");
}

// Whatever bytes come: values within their ranges, or an error that names the file.
TEST(OpenbFile, AnyBytesGiveRangesOrAnError) {
  Prng r(7, "openb-file-test");
  for (int round = 0; round < 20000; ++round) {
    std::string text(round % 2 == 0 ? kPods : kNodes);
    for (std::uint64_t edits = 1 + r.below(4); edits > 0; --edits) {
      const std::size_t at = r.below(text.size());
      const std::uint64_t kind = r.below(3);
      if (kind == 0) text[at] = static_cast<char>(r.next());
      if (kind == 1) text.erase(at, 1 + r.below(5));
      if (kind == 2) text.insert(at, 1, "0123456789,\n\"-|"[r.below(15)]);
      if (text.empty()) text = "x";
    }
    if (const auto pods = parse_openb_pods(text, "p"); pods.has_value()) {
      for (const OpenbPod& p : *pods) {
        ASSERT_TRUE(p.cpu_milli >= 0 && p.memory_mib >= 0 && p.gpus >= 0 && p.gpus <= kOpenbGpusPerNodeMax);
        ASSERT_TRUE(p.gpus == 0 ? p.gpu_milli == 0 : p.gpu_milli >= 1 && p.gpu_milli <= 1000);
      }
    } else {
      ASSERT_EQ(pods.error().what.substr(0, 1), "p");
    }
    (void)parse_openb_nodes(text, "n");
  }
}

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

TEST(OpenbFile, ReadsThePublishedLists) {
  const char* data = std::getenv("MUSTER_DATA");
  if (data == nullptr) GTEST_SKIP() << "MUSTER_DATA is not set: the published lists are not here";
  const std::string folder = std::string(data) + "/jobs/openb/";
  const std::string bytes = read(folder + "openb_node_list_gpu_node.csv.gz");
  if (bytes.empty()) GTEST_SKIP() << "no openb lists in MUSTER_DATA";
  const auto nodes = parse_openb_nodes(bytes, "nodes");
  ASSERT_TRUE(nodes.has_value()) << nodes.error().what;
  int gpus = 0;
  for (const OpenbNode& n : *nodes) gpus += n.gpus;
  EXPECT_EQ(nodes->size(), 1213u);
  EXPECT_EQ(gpus, 6212);
  const auto pods = parse_openb_pods(read(folder + "openb_pod_list_default.csv.gz"), "pods");
  ASSERT_TRUE(pods.has_value()) << pods.error().what;
  EXPECT_EQ(pods->size(), 8152u);
}

}  // namespace
}  // namespace muster
