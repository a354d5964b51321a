#include "predict/route_check.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/prng.h"
#include "predict/job_traffic.h"
#include "predict/routes.h"

namespace muster::predict {
namespace {

constexpr std::uint64_t kSwitchGuids = 1000;

// Switches in a circle, ports 1 (on) and 2 (back), with `hosts` endpoints each from port 3 on.
struct Circle {
  Fabric fabric;
  ForwardingTables tables;
  std::uint32_t switches, hosts;

  Circle(std::uint32_t many, std::uint32_t each) : switches(many), hosts(each) {
    for (std::uint32_t s = 0; s < many; ++s) fabric.add({"sw" + std::to_string(s), kSwitchGuids + s, true, {}});
    for (std::uint32_t s = 0; s < many; ++s) fabric.connect(s, 1, (s + 1) % many, 2, 25);
    for (std::uint32_t h = 0; h < many * each; ++h) {
      const std::uint32_t e = fabric.add({"node" + std::to_string(100 + h) + " mlx5_0", h + 1, false, {}});
      fabric.connect(h / each, static_cast<std::uint16_t>(3 + h % each), e, 1, 25);
      tables.lids[h + 1] = static_cast<std::uint16_t>(h + 1);
    }
    for (std::uint32_t s = 0; s < many; ++s) {
      auto& t = tables.switches[kSwitchGuids + s];
      t.assign(many * each + 1, 1);  // always on, never back
      for (std::uint32_t h = 0; h < each; ++h) t[s * each + h + 1] = static_cast<std::uint8_t>(3 + h);
    }
  }
  std::uint8_t& port(std::uint32_t at, std::uint32_t host) { return tables.switches[kSwitchGuids + at][host + 1]; }
};

TEST(RouteCheck, ways_that_all_go_round_one_way_can_wait_for_each_other_in_a_circle) {
  const Circle c(4, 2);
  const RouteCheck r = route_check(c.fabric, c.tables);
  EXPECT_EQ(r.pairs, 8u * 7);
  EXPECT_EQ(r.unreachable, 0u);
  EXPECT_EQ(r.looping, 0u);
  ASSERT_EQ(r.credit_loop.size(), 4u);
  EXPECT_EQ(r.links_in_credit_loops, 4u);
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(c.fabric.links[r.credit_loop[i]].to, c.fabric.links[r.credit_loop[(i + 1) % 4]].from);
  // To each of the two hosts of a switch: two senders come from one, two and three switches before it.
  ASSERT_EQ(r.layers.size(), 1u);
  EXPECT_EQ(r.layers[0].links, 8u);  // half of them, back, carry nothing
  EXPECT_EQ(r.layers[0].most, 24u);
  EXPECT_DOUBLE_EQ(r.layers[0].mean, 12);
}

TEST(RouteCheck, ways_that_never_cross_one_cable_cannot) {
  Circle c(4, 1);
  for (std::uint32_t at = 0; at < 4; ++at) {
    for (std::uint32_t host = 0; host < 4; ++host) {
      if (at != host) c.port(at, host) = host > at ? 1 : 2;
    }
  }
  const RouteCheck r = route_check(c.fabric, c.tables);
  EXPECT_EQ(r.unreachable + r.looping, 0u);
  EXPECT_TRUE(r.credit_loop.empty());
  EXPECT_EQ(r.links_in_credit_loops, 0u);
}

TEST(RouteCheck, ways_that_end_and_ways_that_go_round_are_counted_and_named) {
  Circle c(4, 1);
  c.port(1, 3) = ForwardingTables::kNoPort;  // from 0 and 1 to 3
  c.port(2, 0) = 2;                          // 2 hands back to 1, which hands on to 2
  const RouteCheck r = route_check(c.fabric, c.tables);
  EXPECT_EQ(r.unreachable, 2u);
  EXPECT_EQ(r.looping, 2u);
  ASSERT_EQ(r.broken.size(), 2u);
  const auto loop = std::find_if(r.broken.begin(), r.broken.end(), [](const auto& b) { return b.loop; });
  ASSERT_NE(loop, r.broken.end());
  EXPECT_EQ(c.fabric.nodes[loop->to].name, "node100 mlx5_0");
  EXPECT_EQ(loop->pairs, 2u);
}

TEST(RouteCheck, what_is_cut_off_or_unknown_is_said) {
  Circle c(4, 1);
  c.tables.lids.erase(1);
  c.tables.switches.erase(kSwitchGuids + 2);
  const RouteCheck r = route_check(c.fabric, c.tables);
  EXPECT_EQ(r.without_address, 1u);
  EXPECT_EQ(r.switches_untold, 1u);
  EXPECT_EQ(r.unreachable, 0u);
  EXPECT_GT(r.not_judged, 0u);
  EXPECT_LT(r.not_judged, r.pairs);
  c.port(3, 1) = ForwardingTables::kNoPort;  // what is told is judged all the same
  EXPECT_GT(route_check(c.fabric, c.tables).unreachable, 0u);
}

// The same by walking every way alone.
TEST(RouteCheck, agrees_with_walking_every_way_whatever_the_tables_say) {
  Prng prng(7, "tables");
  int whole = 0;
  for (int round = 0; round < 400; ++round) {
    Circle c(static_cast<std::uint32_t>(3 + prng.below(5)), static_cast<std::uint32_t>(1 + prng.below(3)));
    for (auto& [guid, table] : c.tables.switches) {
      for (std::uint8_t& p : table) {
        const std::uint64_t luck = prng.below(20);
        if (luck < (round % 4 == 0 ? 1U : 4U)) p = static_cast<std::uint8_t>(1 + prng.below(2));
        if (round % 2 == 0) continue;  // these have circles only
        if (luck == 4) p = static_cast<std::uint8_t>(prng.below(7));
        if (luck == 5) p = ForwardingTables::kNoPort;
      }
    }
    if (round % 3 == 0) c.fabric.cut(static_cast<std::uint32_t>(prng.below(c.fabric.links.size())));
    const RouteCheck r = route_check(c.fabric, c.tables);
    Router router(c.fabric, c.tables);
    std::vector<std::uint64_t> load(c.fabric.links.size(), 0);
    std::uint64_t pairs = 0, broken = 0;
    const auto cabled = [&](std::uint32_t e) { return c.fabric.nodes[e].out[1] != Fabric::kNoLink; };
    for (const std::uint32_t from : c.fabric.endpoints()) {
      for (const std::uint32_t to : c.fabric.endpoints()) {
        if (from == to || !cabled(from) || !cabled(to)) continue;
        ++pairs;
        const auto way = router.way(from, to);
        if (!way) ++broken;
        if (way) {
          for (const Flows::Use& u : *way) ++load[u.link];
        }
      }
    }
    EXPECT_EQ(r.pairs, pairs);
    EXPECT_EQ(r.unreachable + r.looping, broken);
    if (broken > 0) continue;  // what is sent and lost is on links too
    EXPECT_EQ(r.load, load);
    ++whole;
  }
  EXPECT_GT(whole, 10);
}

TEST(RouteCheck, two_jobs_share_what_their_rings_have_in_common) {
  const Circle c(4, 2);
  Router router(c.fabric, c.tables);
  const JobOnNodes jobs[] = {{"a", {"node100", "node102"}}, {"b", {"node101", "node103"}}, {"alone", {"node104"}}};
  const auto t = job_traffic(c.fabric, router, jobs);
  ASSERT_TRUE(t.has_value()) << t.error().what;
  ASSERT_EQ(t->size(), 3u);
  // From switch 0 to 1, and back by 2 and 3: each job has every link to itself; both have each link twice.
  EXPECT_DOUBLE_EQ((*t)[0].ring, 1);
  EXPECT_DOUBLE_EQ((*t)[0].all_to_all, 1);
  EXPECT_DOUBLE_EQ((*t)[0].ring_together, 0.5);
  EXPECT_DOUBLE_EQ((*t)[2].ring_together, 1);
  const JobOnNodes unknown[] = {{"c", {"node100", "elsewhere"}}};
  const auto bad = job_traffic(c.fabric, router, unknown);
  ASSERT_FALSE(bad.has_value());
  EXPECT_NE(bad.error().what.find("elsewhere"), std::string::npos);
  std::vector<JobOnNodes> mixed = {{"a", {"node100", "node102"}}, {"c", {"node100", "elsewhere"}}, {"waits", {}}};
  const auto dropped = drop_jobs_elsewhere(c.fabric, mixed);
  EXPECT_EQ(dropped, (std::vector<std::pair<std::string, std::string>>{{"c", "elsewhere"}, {"waits", ""}}));
  ASSERT_EQ(mixed.size(), 1u);
  EXPECT_EQ(mixed[0].name, "a");
}

TEST(RouteCheck, a_node_that_a_job_names_for_each_of_its_ranks_is_one) {
  const Circle c(4, 2);
  Router router(c.fabric, c.tables);
  const JobOnNodes jobs[] = {{"a", {"node100", "node100", "node102", "node100"}}, {"b", {"node101", "node101"}}};
  const auto t = job_traffic(c.fabric, router, jobs);
  ASSERT_TRUE(t.has_value()) << t.error().what;
  EXPECT_EQ((*t)[0].nodes, 2u);
  EXPECT_DOUBLE_EQ((*t)[0].ring, 1);
  EXPECT_EQ((*t)[1].nodes, 1u);
}

TEST(RouteCheck, switches_that_no_endpoint_is_behind_are_of_no_layer) {
  Circle c(3, 1);
  const std::uint32_t a = c.fabric.add({"island-a", 2000, true, {}}), b = c.fabric.add({"island-b", 2001, true, {}});
  c.fabric.connect(a, 1, b, 1, 25);
  const RouteCheck r = route_check(c.fabric, c.tables);
  ASSERT_EQ(r.layers.size(), 1u);
  EXPECT_EQ(r.layers[0].from_level, 0u);
}

TEST(Router, hashed_ways_reach_every_endpoint_and_hold_no_more_than_pairs_of_switches) {
  const Circle c(6, 3);
  Router router(c.fabric, Routing::hashed);
  for (const std::uint32_t from : c.fabric.endpoints()) {
    for (const std::uint32_t to : c.fabric.endpoints()) {
      const auto way = router.way(from, to);
      ASSERT_TRUE(way.has_value());
      if (from != to) {
        EXPECT_EQ(c.fabric.links[way->back().link].to, to);
      }
    }
  }
}

}  // namespace
}  // namespace muster::predict
