#include <gtest/gtest.h>

#include <chrono>

#include "api/cluster_fixture.h"
#include "api/render.h"

namespace muster::api {
namespace {

bool has(const std::string& text, std::string_view piece) { return text.find(piece) != std::string::npos; }

Finding link_finding(FindingKind kind, NodeId node, std::int16_t slot) {
  Finding f;
  f.id = {7};
  f.kind = kind;
  f.node = node;
  f.slot = slot;
  f.opened = kStart;
  f.evidence = {{Witness::scrape, kStart, "", "<b>port is down</b>"}};
  return f;
}

// Two leaves of two nodes; job 17 has both of leaf 0.
TEST(Fabric, TellsOfLeavesByRailsAndOfBadLinksOnly) {
  Office o;
  std::string body = o.ask(Office::get("/api/v1/fabric")).body;
  EXPECT_TRUE(has(body, "\"kind\":\"Fabric\",\"seq\":6,\"rails\":8,\"pods\":1")) << body;
  EXPECT_TRUE(has(body, "\"id\":1,\"name\":\"leaf 1\",\"pod\":0,\"nodes\":2,\"links\":16,\"up\":16")) << body;
  EXPECT_TRUE(has(body, "\"items\":[],\"left_out\":0")) << body;
  o.cluster.tell(FindingOpened{link_finding(FindingKind::link_down, {1}, 3)});
  body = o.ask(Office::get("/api/v1/fabric")).body;
  EXPECT_TRUE(has(body, "\"cells\":\"uuuduuuu\"")) << body;
  EXPECT_TRUE(has(body, "\"cell_counts\":[{\"rail\":3,\"up\":1,")) << body;
  EXPECT_TRUE(has(body, "\"node\":\"node002\",\"slot\":3,\"net\":\"fabric\",\"nic\":\"mlx5_3\",\"leaf\":\"leaf 0\"")) << body;
  EXPECT_TRUE(has(body, "\"since_utc\":\"2026-01-01T00:00:00Z\",\"finding\":7,\"kind\":\"link_down\"")) << body;
  EXPECT_TRUE(has(body, "\"job\":\"17\"")) << body;
}

TEST(Fabric, TellsBothEndsOfACable) {
  Office o;
  CableTable t;
  t.switches = {"sw-1"};
  t.nics = {1 * Cabling::kNicsMax + 3};
  t.far_ends = {0};
  t.ports = {"1/17"};
  t.labels = {"C-00412"};
  CablesDeclared cables;
  cables.cables.set(t);
  o.cluster.tell(cables);
  const std::string body = o.ask(Office::get("/api/v1/fabric", {{"leaf", "sw-1"}})).body;
  EXPECT_TRUE(
      has(body, "\"leaf\":\"sw-1\",\"pod\":0,\"rack\":\"r1\",\"switch\":\"sw-1\",\"port\":\"1/17\",\"cable\":\"C-00412\""))
      << body;
  EXPECT_TRUE(has(body, "\"switches\":[\"\",\"\",\"\",\"sw-1\",")) << body;
}

TEST(Fabric, AnswersAJobWithItsLinks) {
  Office o;
  const std::string body = o.ask(Office::get("/api/v1/fabric", {{"job", "17"}})).body;
  EXPECT_TRUE(has(body, "\"job\":{\"id\":\"17\",\"links\":16,\"bad_links\":0,\"leaves\":1,\"pods\":1,\"crosses_leaves\":false"))
      << body;
  EXPECT_TRUE(has(body, "\"job_links\":16")) << body;
  EXPECT_FALSE(has(body, "leaf 1")) << body;
}

TEST(Fabric, RefusesWhatIsNotThere) {
  Office o;
  const auto ask = [&](std::map<std::string, std::string> query) {
    return o.ask(Office::get("/api/v1/fabric", std::move(query)));
  };
  EXPECT_EQ(ask({{"leaf", "leaf 9"}}).status, 404);
  EXPECT_EQ(ask({{"job", "18"}}).status, 404);
  EXPECT_EQ(ask({{"job", "<script>"}}).status, 404);
  const HttpResponse wrong = ask({{"laef", "1"}});
  EXPECT_EQ(wrong.status, 400);
  EXPECT_TRUE(has(wrong.body, "did you mean 'leaf'?")) << wrong.body;
}

TEST(FabricOfALargeSite, IsAnsweredWithinASecondAndInLessThanHalfAMegabyte) {
  constexpr std::uint32_t kNodes = 12'500;
  Snapshot s;
  s.state.site.gpus_per_node = 8;
  s.state.site.nodes.resize(kNodes);
  s.state.nodes.resize(kNodes);
  for (std::uint32_t n = 0; n < kNodes; ++n) {
    s.state.site.nodes[n].leaf = n / 16;
    s.state.site.nodes[n].pod = n / 256;
    s.state.nodes[n].shares = {{{n / 100 + 1, 0}, 0xff, 1000}};
  }
  const Faces faces = look(s.state);
  const auto begin = std::chrono::steady_clock::now();
  const auto json = render_fabric(Frame{s, faces}, {});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  ASSERT_TRUE(json.has_value());
  EXPECT_LT(json->size(), 500'000u);
  EXPECT_TRUE(has(*json, "\"name\":\"leaf 781\""));
  EXPECT_LT(took.count(), 1);
}

}  // namespace
}  // namespace muster::api
