#include "decide/moves/preempt.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <bit>
#include <map>
#include <optional>

#include "decide/moves/trial_cluster.h"

namespace muster::decide {
namespace {

Layout flat(std::uint32_t nodes, std::uint32_t per_leaf, std::uint32_t gpus = 8) {
  Layout out;
  out.models = {"H200"};
  for (std::uint32_t n = 0; n < nodes; ++n) out.nodes.push_back({n, n / per_leaf, n / (4 * per_leaf), gpus, 0});
  return out;
}

Gang gang(std::uint32_t id, std::vector<std::uint32_t> nodes, std::uint16_t slots, double lost_s, std::int32_t priority = 0) {
  Gang g;
  g.id = {id, 0};
  g.priority = priority;
  g.shape = {.pieces = static_cast<std::uint32_t>(nodes.size()), .gpus = static_cast<std::uint32_t>(std::popcount(slots))};
  for (const std::uint32_t n : nodes) {
    g.nodes.push_back(NodeId{n});
    g.slots.push_back(slots);
  }
  g.since_checkpoint_s = lost_s;
  g.running_s = 1e6;
  g.use = {static_cast<std::int64_t>(g.milli_gpus()), 0, 0, 0};
  return g;
}

Tree full(const Layout& layout, const std::vector<Gang>& gangs) {
  Tree t(layout);
  for (const Gang& g : gangs) take(t, g);
  return t;
}

std::vector<std::uint32_t> ids(const Preemption& p) {
  std::vector<std::uint32_t> out;
  for (const JobId j : p.victims) out.push_back(j.number);
  return out;
}

// Eight GPUs on four nodes would be the cheapest to free, and would help nobody: the case other schedulers fall into.
TEST(Preempt, FreesGpusThatAreOnOneNodeNotTheCheapestAnywhere) {
  const Layout layout = flat(4, 4);
  std::vector<Gang> gangs;
  for (std::uint32_t n = 0; n < 4; ++n) {
    gangs.push_back(gang(10 + n, {n}, 0x03, 10));        // two GPUs a node, nearly free to stop
    gangs.push_back(gang(20 + n, {n}, 0xfc, 1000 + n));  // six GPUs a node, dear
  }
  Tree tree = full(layout, gangs);
  const PreemptAsk ask{.id = {99, 0}, .priority = 5, .shape = {.pieces = 1, .gpus = 8}};
  const Preemption p = choose_victims(tree, layout, gangs, ask);
  ASSERT_TRUE(p.found) << p.why;
  EXPECT_EQ(ids(p), (std::vector<std::uint32_t>{10, 20}));
  EXPECT_TRUE(p.exact);
  EXPECT_EQ(p.choice.nodes, std::vector<NodeId>{NodeId{0}});
  EXPECT_EQ(p.why,
            "stopping 2 gangs (10, 20) frees 8 GPUs: with what is free already, room for 1 x 8 GPUs; 1.67 GPU-hours are done "
            "again, the least possible");
}

TEST(Preempt, TellsWhatIsFreedFromWhatWasFreeBefore) {
  const Layout layout = flat(2, 2);
  const std::vector<Gang> gangs = {gang(1, {0}, 0x01, 10), gang(2, {1}, 0x01, 10)};
  Tree tree = full(layout, gangs);
  const Preemption p = choose_victims(tree, layout, gangs, {.id = {99, 0}, .priority = 5, .shape = {.pieces = 2}});
  ASSERT_TRUE(p.found) << p.why;
  EXPECT_EQ(p.why.rfind("stopping 2 gangs (1, 2) frees 2 GPUs: with what is free already, room for 2 whole nodes; ", 0), 0U)
      << p.why;
}

TEST(Preempt, PrefersTheGangThatHasJustMadeACheckpoint) {
  const Layout layout = flat(4, 4);
  const std::vector<Gang> gangs = {gang(1, {0, 1}, 0xff, 1700), gang(2, {2, 3}, 0xff, 20)};
  Tree tree = full(layout, gangs);
  const PreemptAsk ask{.id = {9, 0}, .priority = 1, .shape = {.pieces = 1}};
  EXPECT_EQ(ids(choose_victims(tree, layout, gangs, ask)), std::vector<std::uint32_t>{2});
}

TEST(Preempt, NeverStopsEqualOrHigherPriorityNorTheYoung) {
  const Layout layout = flat(2, 2);
  std::vector<Gang> gangs = {gang(1, {0}, 0xff, 1, 5), gang(2, {1}, 0xff, 1, 4)};
  gangs[1].running_s = 100;
  Tree tree = full(layout, gangs);
  const PreemptAsk ask{.id = {9, 0}, .priority = 5, .shape = {.pieces = 1}};
  const Preemption p = choose_victims(tree, layout, gangs, ask);
  EXPECT_FALSE(p.found);
  EXPECT_TRUE(p.exact);
  EXPECT_EQ(p.why,
            "no set of the 0 gangs that may be stopped makes room for 1 whole node: left alone are 1 of no lower priority, 1 "
            "that run for "
            "less than 600 s, and 0 within their queues' guarantees");
  EXPECT_TRUE(choose_victims(tree, layout, gangs, ask, {.protected_s = 60}).found);
}

TEST(Preempt, StopsNobodyWhereTheGangFits) {
  const Layout layout = flat(2, 2);
  const std::vector<Gang> gangs = {gang(1, {0}, 0xff, 1)};
  Tree tree = full(layout, gangs);
  const Preemption p = choose_victims(tree, layout, gangs, {.id = {9, 0}, .priority = 5, .shape = {.pieces = 1}});
  EXPECT_TRUE(p.found);
  EXPECT_TRUE(p.victims.empty());
}

TEST(Preempt, KeepsToTheLevelAskedFor) {
  const Layout layout = flat(8, 4);
  std::vector<Gang> gangs;
  // Cheap ones alternate between the two leaves.
  for (std::uint32_t n = 0; n < 8; ++n) gangs.push_back(gang(1 + n, {n}, 0xff, n % 4 < 2 ? 10 : (n < 4 ? 100 : 200)));
  Tree tree = full(layout, gangs);
  PreemptAsk ask{.id = {99, 0}, .priority = 5, .shape = {.pieces = 3}};
  EXPECT_EQ(ids(choose_victims(tree, layout, gangs, ask)), (std::vector<std::uint32_t>{1, 2, 5}));
  ask.shape.required = Level::leaf;
  EXPECT_EQ(ids(choose_victims(tree, layout, gangs, ask)), (std::vector<std::uint32_t>{1, 2, 3}));
}

TEST(Preempt, AnOwnerGetsItsGuaranteeBackFromBorrowersOfAnyPriority) {
  const Layout layout = flat(4, 4);
  const std::vector<QueueSpec> specs = {{.name = "a", .parent = "", .guaranteed_gpus = 16, .models = {}},
                                        {.name = "b", .parent = "", .guaranteed_gpus = 16, .models = {}}};
  Quotas quotas(specs, {whole_gpus(32), "", ""});
  std::vector<Gang> gangs;
  for (std::uint32_t n = 0; n < 4; ++n) {
    gangs.push_back(gang(1 + n, {n}, 0xff, 100.0 * (4 - n), 9));
    gangs.back().queue = quotas.find("a");
    quotas.take(gangs.back().queue, gangs.back().use);
  }
  Tree tree = full(layout, gangs);
  PreemptAsk ask{.id = {99, 0}, .queue = quotas.find("b"), .priority = 0, .shape = {.pieces = 2}, .use = whole_gpus(16)};
  const Preemption p = choose_victims(tree, layout, gangs, ask, {}, &quotas);
  ASSERT_TRUE(p.found) << p.why;
  EXPECT_EQ(ids(p), (std::vector<std::uint32_t>{3, 4}));
  // Beyond its guarantee it has no more right than its priority gives it.
  ask.shape.pieces = 3;
  ask.use = whole_gpus(24);
  EXPECT_FALSE(choose_victims(tree, layout, gangs, ask, {}, &quotas).found);
  // And what is guaranteed to others stays theirs, whatever the priority: only two of the four are borrowed.
  ask.priority = 10;
  EXPECT_FALSE(choose_victims(tree, layout, gangs, ask, {}, &quotas).found);
}

TEST(Preempt, MakesRoomUnderTheQueuesOwnLimitEvenElsewhere) {
  const Layout layout = flat(4, 2);
  const std::vector<QueueSpec> specs = {{.name = "a", .parent = "", .limit_gpus = 16, .models = {}}};
  Quotas quotas(specs, {whole_gpus(32), "", ""});
  std::vector<Gang> gangs = {gang(1, {0}, 0xff, 50), gang(2, {1}, 0xff, 10)};
  for (Gang& g : gangs) {
    g.queue = quotas.find("a");
    quotas.take(g.queue, g.use);
  }
  Tree tree = full(layout, gangs);
  // Leaf 1 is free, but the queue has all it may have.
  const PreemptAsk ask{.id = {99, 0},
                       .queue = quotas.find("a"),
                       .priority = 1,
                       .shape = {.pieces = 1, .required = Level::leaf},
                       .use = whole_gpus(8)};
  const Preemption p = choose_victims(tree, layout, gangs, ask, {}, &quotas);
  ASSERT_TRUE(p.found) << p.why;
  EXPECT_EQ(ids(p), std::vector<std::uint32_t>{2});
  EXPECT_TRUE(p.exact);
}

// Every subset, by counting: none of the search's own means.
struct Best {
  std::int64_t loss = 0;
  std::size_t gangs = 0;
};

std::optional<Best> brute_force(const TrialCluster& c, const std::vector<const Gang*>& may, const Shape& shape) {
  std::optional<Best> best;
  for (std::uint32_t set = 0; set < 1U << may.size(); ++set) {
    Best now;
    for (std::size_t i = 0; i < may.size(); ++i) {
      if ((set >> i & 1) == 0) continue;
      now.loss += may[i]->loss_gpu_ms();
      ++now.gangs;
    }
    if (best && std::tuple(now.loss, now.gangs) >= std::tuple(best->loss, best->gangs)) continue;
    std::vector<std::uint32_t> free;
    for (const Layout::Node& n : c.layout.nodes) free.push_back(n.gpus);
    for (const Gang& g : c.gangs) {
      const auto at = std::find(may.begin(), may.end(), &g) - may.begin();
      if (at < static_cast<std::ptrdiff_t>(may.size()) && (set >> at & 1) != 0) continue;
      for (std::size_t k = 0; k < g.nodes.size(); ++k)
        free[g.nodes[k].v] -= static_cast<std::uint32_t>(std::popcount(g.slots[k]));
    }
    // Pieces per domain, per group.
    std::map<std::uint32_t, std::map<std::uint32_t, std::uint32_t>> room;
    for (std::uint32_t n = 0; n < free.size(); ++n) {
      const Layout::Node& x = c.layout.nodes[n];
      if (shape.model != kAnyModel && x.model != shape.model) continue;
      const std::uint32_t pieces = shape.gpus == 0 ? (free[n] == x.gpus ? 1 : 0) : free[n] / shape.gpus;
      room[group_of(c.layout, NodeId{n}, shape.required)][x.domain] += pieces;
    }
    const std::uint32_t segment = std::max(shape.segment, 1U);
    for (const auto& [group, domains] : room) {
      std::uint32_t whole = 0;
      std::uint32_t rest = 0;
      for (const auto& [d, k] : domains) {
        whole += k / segment;
        rest = std::max(rest, k % segment);
      }
      if (whole * segment + rest >= shape.pieces) {
        best = now;
        break;
      }
    }
  }
  return best;
}

struct Case {
  TrialCluster cluster;
  PreemptAsk ask;
  std::vector<const Gang*> may;
};

Case random_case(Prng& r) {
  Case c;
  c.cluster = trial_cluster(r, 12, 14);
  c.ask = {.id = {1000, 0}, .priority = static_cast<std::int32_t>(1 + r.below(4)), .shape = trial_shape(r, c.cluster.layout)};
  for (const Gang& g : c.cluster.gangs) {
    if (g.priority < c.ask.priority && g.running_s >= PreemptRules{}.protected_s) c.may.push_back(&g);
  }
  return c;
}

// What must hold of any plan: its victims may be stopped, and with them gone the gang stands where the plan says.
void check_plan(const Case& c, const Preemption& p) {
  Tree tree = c.cluster.tree();
  std::int64_t loss = 0;
  for (const JobId v : p.victims) {
    const auto g = std::find_if(c.may.begin(), c.may.end(), [&](const Gang* x) { return x->id == v; });
    RC_ASSERT(g != c.may.end());
    give(tree, **g);
    loss += (*g)->loss_gpu_ms();
  }
  RC_ASSERT(loss == p.loss_gpu_ms);
  const auto found = tree.find(c.ask.shape);
  RC_ASSERT(found.has_value());
  RC_ASSERT(found->nodes == p.choice.nodes);
  RC_ASSERT(found->slots == p.choice.slots);
  tree.take(p.choice, c.ask.shape.milli);  // aborts if anything was still taken
}

TEST(PreemptProperty, ThePlanIsTheBestOfAllAndLeavesTheTreeAsItWas) {
  EXPECT_TRUE(rc::check([](std::uint64_t seed) {
    Prng r(seed, "preempt");
    const Case c = random_case(r);
    Tree tree = c.cluster.tree();
    const Occupancy before = tree.occupancy();
    const Preemption p = choose_victims(tree, c.cluster.layout, c.cluster.gangs, c.ask);
    RC_ASSERT((tree.occupancy() == before));
    const auto best = brute_force(c.cluster, c.may, c.ask.shape);
    RC_ASSERT(p.exact);
    RC_ASSERT(p.found == best.has_value());
    if (!p.found) return;
    RC_ASSERT(p.loss_gpu_ms == best->loss);
    RC_ASSERT(p.victims.size() == best->gangs);
    check_plan(c, p);
    const Preemption again = choose_victims(tree, c.cluster.layout, c.cluster.gangs, c.ask);
    RC_ASSERT(again.victims == p.victims);
  }));
}

// A random case with queues, some borrowing.
struct QuotaCase {
  Case c;
  std::vector<QueueSpec> specs;
  std::optional<Quotas> quotas;
};

QuotaCase random_quota_case(Prng& r) {
  QuotaCase out;
  out.c = random_case(r);
  std::uint32_t gpus = 0;
  for (const Layout::Node& n : out.c.cluster.layout.nodes) gpus += n.gpus;
  std::uint32_t free = gpus;
  for (std::uint32_t i = 0; i < 3; ++i) {
    const auto g = static_cast<std::uint32_t>(r.below(free + 1));
    free -= g;
    const bool below = i == 2 && out.specs[1].guaranteed_gpus >= g && r.chance(0.5);
    QueueSpec s{.name = "q" + std::to_string(i), .parent = below ? "q1" : "", .guaranteed_gpus = g, .models = {}};
    if (r.chance(0.3)) s.limit_gpus = g + static_cast<std::uint32_t>(r.below(gpus)) + 1;
    out.specs.push_back(s);
  }
  out.quotas.emplace(out.specs, Pool{whole_gpus(gpus), "", ""});
  for (Gang& g : out.c.cluster.gangs) {
    g.queue = static_cast<QueueIndex>(r.below(out.quotas->size()));
    out.quotas->take(g.queue, g.use);
  }
  out.c.ask.queue = static_cast<QueueIndex>(r.below(out.quotas->size()));
  std::uint32_t piece = out.c.ask.shape.gpus == 0 ? out.c.cluster.layout.nodes[0].gpus : out.c.ask.shape.gpus;
  out.c.ask.use = whole_gpus(std::int64_t{out.c.ask.shape.pieces} * piece);
  return out;
}

// Whether these may all be stopped: lower in priority, or borrowed from an owner; and of other queues only while those are
// beyond their guarantees, the smallest gang first. Said again, from the rules.
bool may_stop_all(const QuotaCase& q, std::vector<const Gang*> set) {
  std::sort(set.begin(), set.end(),
            [](const Gang* a, const Gang* b) { return std::tuple(a->milli_gpus(), a->id) < std::tuple(b->milli_gpus(), b->id); });
  const PreemptAsk& ask = q.c.ask;
  const bool guarded = q.quotas->guarded(ask.use);
  const bool owner = q.quotas->within_guarantee(ask.queue, ask.use);
  Quotas now = *q.quotas;
  for (const Gang* g : set) {
    const bool gives = now.must_give(g->queue, ask.queue, ask.use);
    if (guarded && g->queue != ask.queue && !gives) return false;
    if (g->priority >= ask.priority && !(owner && gives)) return false;
    if (g->running_s < PreemptRules{}.protected_s) return false;
    now.give(g->queue, g->use);
  }
  return now.allows(ask.queue, ask.use);
}

TEST(PreemptProperty, QuotasAreKeptAndNothingAllowedIsMissed) {
  int found = 0;
  int reclaimed = 0;
  EXPECT_TRUE(rc::check([&](std::uint64_t seed) {
    Prng r(seed, "preempt-quota");
    for (int i = 0; i < 5; ++i) {
      const QuotaCase q = random_quota_case(r);
      const auto& gangs = q.c.cluster.gangs;
      if (gangs.size() > 10) continue;
      Tree tree = q.c.cluster.tree();
      const Preemption p = choose_victims(tree, q.c.cluster.layout, gangs, q.c.ask, {}, &*q.quotas);
      // Every subset, by the tree and the rules.
      std::optional<std::int64_t> best;
      for (std::uint32_t set = 0; set < 1U << gangs.size(); ++set) {
        std::vector<const Gang*> stopped;
        std::int64_t loss = 0;
        for (std::size_t k = 0; k < gangs.size(); ++k) {
          if ((set >> k & 1) == 0) continue;
          stopped.push_back(&gangs[k]);
          loss += gangs[k].loss_gpu_ms();
        }
        if ((best && loss >= *best) || !may_stop_all(q, stopped)) continue;
        const std::size_t mark = tree.mark();
        for (const Gang* g : stopped) give(tree, *g);
        if (tree.find(q.c.ask.shape)) best = loss;
        tree.rollback(mark);
      }
      RC_ASSERT(p.exact);
      RC_ASSERT(p.found == best.has_value());
      if (!p.found) continue;
      RC_ASSERT(p.loss_gpu_ms == *best);
      std::vector<const Gang*> victims;
      bool higher = false;
      for (const Gang& g : gangs) {
        if (std::find(p.victims.begin(), p.victims.end(), g.id) == p.victims.end()) continue;
        victims.push_back(&g);
        higher = higher || g.priority >= q.c.ask.priority;
      }
      RC_ASSERT(may_stop_all(q, victims));
      found += victims.empty() ? 0 : 1;
      reclaimed += higher ? 1 : 0;
    }
  }));
  std::printf("%d plans, %d of them an owner's, over higher priorities\n", found, reclaimed);
  EXPECT_GT(found, 10);
}

// The greedy part alone, as used where there are many candidates, against every subset. Fixed seeds: this is a figure.
TEST(PreemptProperty, GreedyAloneIsNearlyAlwaysTheBest) {
  int wanted = 0;
  int best_found = 0;
  double over = 0;
  for (std::uint64_t seed = 0; wanted < 400; ++seed) {
    Prng r(seed, "greedy");
    const Case c = random_case(r);
    const auto best = brute_force(c.cluster, c.may, c.ask.shape);
    Tree tree = c.cluster.tree();
    const Preemption p = choose_victims(tree, c.cluster.layout, c.cluster.gangs, c.ask, {.exact_max = 0});
    ASSERT_EQ(p.found, best.has_value()) << seed;
    if (!best || best->gangs < 2) continue;  // one victim is no art
    ++wanted;
    best_found += p.loss_gpu_ms == best->loss ? 1 : 0;
    over += static_cast<double>(p.loss_gpu_ms) / static_cast<double>(best->loss) - 1;
    EXPECT_TRUE(!p.exact || p.loss_gpu_ms == best->loss) << seed;
  }
  RecordProperty("best_pct", 100 * best_found / wanted);
  std::printf("greedy: the least loss in %d of %d cases, on average %.2f %% above it\n", best_found, wanted, 100 * over / wanted);
  EXPECT_GE(best_found * 100, 95 * wanted);
}

}  // namespace
}  // namespace muster::decide
