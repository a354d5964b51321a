#include "decide/quota/quota.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

#include "base/prng.h"

namespace muster::decide {
namespace {

QueueSpec queue(std::string name, std::uint32_t guaranteed, std::uint32_t limit = 0, std::string parent = "") {
  return {.name = std::move(name), .parent = std::move(parent), .guaranteed_gpus = guaranteed, .limit_gpus = limit, .models = {}};
}

Pool pool(std::int64_t gpus) { return {whole_gpus(gpus), "", ""}; }

TEST(Quotas, WithoutQueuesOnlyTheCapacityCounts) {
  Quotas q({}, pool(64));
  EXPECT_TRUE(q.may_start(kRootQueue, whole_gpus(64)).ok);
  EXPECT_FALSE(q.may_start(kRootQueue, whole_gpus(64)).borrowed);
  EXPECT_FALSE(q.may_start(kRootQueue, whole_gpus(65)).ok);
  EXPECT_EQ(q.find("anybody"), kRootQueue);
}

TEST(Quotas, AQueueBorrowsWhatOthersLeaveAndGivesItBack) {
  const std::vector<QueueSpec> specs = {queue("physics", 32), queue("biology", 32)};
  Quotas q(specs, pool(64));
  const QueueIndex physics = q.find("physics");
  const QueueIndex biology = q.find("biology");
  q.take(physics, whole_gpus(32));
  const QuotaVerdict v = q.may_start(physics, whole_gpus(24));
  EXPECT_TRUE(v.ok);
  EXPECT_TRUE(v.borrowed);
  EXPECT_EQ(v.why, "physics borrows: 32 of 32 guaranteed GPUs in use, 24 asked");
  q.take(physics, whole_gpus(24));

  EXPECT_TRUE(q.may_start(biology, whole_gpus(8)).ok);
  const QuotaVerdict owner = q.may_start(biology, whole_gpus(32));
  EXPECT_FALSE(owner.ok);
  EXPECT_TRUE(owner.reclaim);
  EXPECT_EQ(owner.why,
            "the cluster has 56 of 64 GPUs taken, 32 more are asked: beyond all that is there; biology is within its "
            "guarantee: who borrowed must give back");
  EXPECT_EQ(q.givers(biology, whole_gpus(32)), std::vector<QueueIndex>{physics});
  EXPECT_TRUE(q.givers(physics, whole_gpus(1)).empty());  // biology has borrowed nothing
  q.give(physics, whole_gpus(24));
  EXPECT_TRUE(q.may_start(biology, whole_gpus(32)).ok);
}

TEST(Quotas, LimitsHoldForTheQueueAndForAllAboveIt) {
  const std::vector<QueueSpec> specs = {queue("science", 0, 40), queue("physics", 0, 30, "science"),
                                        queue("biology", 0, 0, "science")};
  Quotas q(specs, pool(64));
  EXPECT_FALSE(q.may_start(q.find("physics"), whole_gpus(31)).ok);
  q.take(q.find("physics"), whole_gpus(30));
  EXPECT_TRUE(q.may_start(q.find("biology"), whole_gpus(10)).ok);
  const QuotaVerdict v = q.may_start(q.find("biology"), whole_gpus(11));
  EXPECT_FALSE(v.ok);
  EXPECT_EQ(v.why, "science has 30 of 40 GPUs taken, 11 more are asked: beyond its limit");
}

TEST(Quotas, WhatIsBeyondABoundCanNeverStart) {
  std::vector<QueueSpec> specs = {queue("science", 32, 48), queue("physics", 16, 0, "science"), queue("small", 8)};
  specs[2].borrow = false;
  const Quotas q(specs, pool(64));
  EXPECT_EQ(q.never(q.find("physics"), whole_gpus(48)), "");
  EXPECT_EQ(q.never(q.find("physics"), whole_gpus(49)),
            "science, above its queue physics, has a limit of 48 GPUs, and it asks for 49");
  EXPECT_EQ(q.never(q.find("small"), whole_gpus(9)),
            "its queue small has a guarantee of 8 GPUs and may not borrow, and it asks for 9");
  EXPECT_EQ(q.never(kRootQueue, whole_gpus(1000)), "");
  EXPECT_DOUBLE_EQ(q.due(q.find("physics")), 0.5);
  EXPECT_EQ(q.bound(q.find("physics"), Resource::gpus), std::nullopt);
  EXPECT_EQ(q.bound(q.find("science"), Resource::gpus), 48'000);
}

TEST(Quotas, WhoDoesNotLendKeepsItsGuaranteeFree) {
  std::vector<QueueSpec> specs = {queue("serving", 16), queue("training", 48)};
  specs[0].lend = false;
  Quotas q(specs, pool(64));
  const QueueIndex training = q.find("training");
  EXPECT_TRUE(q.may_start(training, whole_gpus(48)).ok);
  const QuotaVerdict v = q.may_start(training, whole_gpus(49));
  EXPECT_FALSE(v.ok);
  EXPECT_NE(v.why.find("kept for queues that do not lend"), std::string::npos) << v.why;
  q.take(training, whole_gpus(48));
  EXPECT_TRUE(q.may_start(q.find("serving"), whole_gpus(16)).ok);
}

TEST(Quotas, WhoMayNotBorrowStaysWithinItsGuarantee) {
  std::vector<QueueSpec> specs = {queue("students", 8), queue("staff", 8)};
  specs[0].borrow = false;
  Quotas q(specs, pool(64));
  EXPECT_TRUE(q.may_start(q.find("students"), whole_gpus(8)).ok);
  const QuotaVerdict v = q.may_start(q.find("students"), whole_gpus(9));
  EXPECT_EQ(v.why, "students has 0 of 8 GPUs taken, 9 more are asked: beyond its guarantee, and it may not borrow");
  EXPECT_TRUE(q.may_start(q.find("staff"), whole_gpus(60)).borrowed);
}

TEST(Quotas, AModelAndPowerHaveQuotasOfTheirOwn) {
  std::vector<QueueSpec> specs = {queue("a", 0), queue("b", 0)};
  specs[0].models = {{"H200", 8, 16}};
  specs[0].limit_kw = 20;
  Quotas q(specs, {.capacity = {64000, 32000, 0, 100000}, .first_model = "H200", .second_model = ""});
  const QueueIndex a = q.find("a");
  EXPECT_TRUE(q.may_start(a, q.ask(16000, "H200")).ok);
  EXPECT_FALSE(q.may_start(a, q.ask(17000, "H200")).ok);
  EXPECT_TRUE(q.may_start(a, q.ask(17000, "A100")).ok);
  EXPECT_EQ(q.may_start(a, q.ask(8000, "A100", 24000)).why, "a has 0 of 20 kW taken, 24 more are asked: beyond its limit");
  std::vector<QueueSpec> modest = specs;
  modest[1] = queue("b", 8);
  modest[1].borrow = false;
  const Quotas other(modest, {.capacity = {64000, 32000, 0, 100000}, .first_model = "H200", .second_model = ""});
  EXPECT_TRUE(other.allows(other.find("b"), other.ask(8000, "H200"))) << "it names no model: its GPUs may be any";
  q.take(q.find("b"), q.ask(30000, "H200"));
  EXPECT_TRUE(q.may_start(a, q.ask(8000, "H200")).reclaim);
  EXPECT_TRUE(q.must_give(q.find("b"), a, q.ask(8000, "H200")));
  EXPECT_FALSE(q.must_give(q.find("b"), a, q.ask(8000, "A100")));  // nobody is guaranteed those
}

TEST(Quotas, TheDominantShareDecides) {
  const std::vector<QueueSpec> specs = {queue("many_small", 0), queue("scarce", 0)};
  Quotas q(specs, {{100'000, 10'000, 0, 0}, "GB200", ""});
  q.take(q.find("many_small"), q.ask(20'000, "L4"));  // 20 % of the GPUs
  q.take(q.find("scarce"), q.ask(5'000, "GB200"));    // 5 % of the GPUs, 50 % of the GB200s
  EXPECT_DOUBLE_EQ(q.share(q.find("many_small")), 0.2);
  EXPECT_DOUBLE_EQ(q.share(q.find("scarce")), 0.5);
  const auto order = q.order();
  EXPECT_LT(std::find(order.begin(), order.end(), q.find("many_small")), std::find(order.begin(), order.end(), q.find("scarce")));
  EXPECT_LT(q.factors()[q.find("many_small")], q.factors()[q.find("scarce")]);
}

TEST(Quotas, OldUseCountsHalfAfterAHalfLife) {
  Usage u;
  accrue(u, whole_gpus(10), Time{} + hours(1), days(1));
  const double then = u.amount[0];
  accrue(u, {}, Time{} + hours(25), days(1));
  EXPECT_NEAR(u.amount[0], then / 2, 1e-6);
  // In one step or in many, the same.
  Usage once;
  Usage steps;
  accrue(once, whole_gpus(8), Time{} + hours(50), days(7));
  for (int h = 1; h <= 50; ++h) accrue(steps, whole_gpus(8), Time{} + hours(h), days(7));
  EXPECT_NEAR(once.amount[0] / steps.amount[0], 1, 1e-12);
  // A constant use tends to itself.
  accrue(once, whole_gpus(8), Time{} + days(100), days(7));
  EXPECT_NEAR(mean_use(once, days(7))[0], 8000, 1);
}

TEST(Quotas, SpecsThatMakeNoSenseAreRefusedWithTheReason) {
  const auto what = [](std::vector<QueueSpec> s) {
    const auto r = check_queues(s);
    return r ? std::string("fine") : r.error().what;
  };
  EXPECT_EQ(what({queue("a", 8), queue("b", 4, 0, "a")}), "fine");
  EXPECT_EQ(what({queue("a", 8, 4)}), "queue a: guarantees 8 GPUs and limits them to 4");
  EXPECT_EQ(what({queue("a", 8), queue("a", 8)}), "queue a is there twice");
  EXPECT_EQ(what({queue("a", 8, 0, "x")}), "queue a: no queue is named x, its parent");
  EXPECT_EQ(what({queue("a", 8, 0, "b"), queue("b", 8, 0, "a")}), "queue a is its own parent");
  EXPECT_EQ(what({queue("a", 8), queue("b", 9, 0, "a")}), "queue a: the queues below it are guaranteed 9 GPUs, it has 8");
  QueueSpec closed = queue("a", 0);
  closed.borrow = false;
  EXPECT_EQ(what({closed}), "queue a: has no guarantee and may not borrow: nothing could run");
  QueueSpec weightless = queue("a", 0);
  weightless.weight = 0;
  EXPECT_EQ(what({weightless}), "queue a: weight must be above 0");
}

// A random tree of queues whose guarantees fit the capacity.
struct World {
  std::vector<QueueSpec> specs;
  std::uint32_t gpus = 0;
};

World random_world(Prng& r) {
  World w;
  const auto n = static_cast<std::uint32_t>(1 + r.below(7));
  std::vector<std::uint32_t> left(n);  // of each queue's guarantee, not promised to those below it
  w.gpus = static_cast<std::uint32_t>(8 + r.below(120));
  std::uint32_t free = w.gpus;
  for (std::uint32_t i = 0; i < n; ++i) {
    const bool top = i == 0 || r.chance(0.4);
    const auto up = top ? 0U : static_cast<std::uint32_t>(r.below(i));
    std::uint32_t& from = top ? free : left[up];
    const auto g = static_cast<std::uint32_t>(r.below(from + 1));
    from -= g;
    left[i] = g;
    QueueSpec s = queue("q" + std::to_string(i), g, r.chance(0.3) ? g + 1 + static_cast<std::uint32_t>(r.below(40)) : 0,
                        top ? "" : "q" + std::to_string(up));
    s.weight = 1 + static_cast<double>(r.below(4));
    s.borrow = g == 0 || r.chance(0.8);
    s.lend = r.chance(0.8);
    w.specs.push_back(s);
  }
  return w;
}

struct Held {
  QueueIndex queue;
  Amounts a;
};

// The rules, said again from the specs alone, by plain recursion.
std::int64_t check_rules(const World& w, const std::vector<Held>& held, std::uint32_t q) {
  const QueueSpec& s = w.specs[q];
  std::int64_t use = 0;
  for (const Held& h : held) use += h.queue == q + 1 ? h.a[0] : 0;
  for (std::uint32_t c = 0; c < w.specs.size(); ++c) {
    if (w.specs[c].parent == s.name) use += check_rules(w, held, c);
  }
  const std::int64_t guaranteed = std::int64_t{s.guaranteed_gpus} * 1000;
  if (s.limit_gpus != 0) RC_ASSERT(use <= std::int64_t{s.limit_gpus} * 1000);
  const bool governed = std::any_of(w.specs.begin(), w.specs.end(), [](const QueueSpec& x) { return x.guaranteed_gpus > 0; });
  if (!s.borrow && governed) RC_ASSERT(use <= guaranteed);
  return s.lend ? use : std::max(use, guaranteed);
}

void check_rules(const World& w, const std::vector<Held>& held) {
  std::int64_t all = 0;
  for (const Held& h : held) all += h.queue == kRootQueue ? h.a[0] : 0;
  for (std::uint32_t q = 0; q < w.specs.size(); ++q) {
    if (w.specs[q].parent.empty()) all += check_rules(w, held, q);
  }
  RC_ASSERT(all <= std::int64_t{w.gpus} * 1000);
}

TEST(QuotasProperty, NoQuotaIsExceededBeyondTheBorrowingRules) {
  EXPECT_TRUE(rc::check([](std::uint64_t seed) {
    Prng r(seed, "quota");
    const World w = random_world(r);
    RC_ASSERT(check_queues(w.specs).has_value());
    Quotas q(w.specs, pool(w.gpus));
    std::vector<Held> held;
    for (int step = 0; step < 120; ++step) {
      if (!held.empty() && r.chance(0.35)) {
        const std::size_t i = r.below(held.size());
        q.give(held[i].queue, held[i].a);
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        const auto from = static_cast<QueueIndex>(r.below(q.size()));
        const Amounts ask = q.ask(static_cast<std::uint32_t>(1 + r.below(20'000)));
        const QuotaVerdict v = q.may_start(from, ask);
        RC_ASSERT(v.ok == q.allows(from, ask));
        RC_ASSERT(!v.why.empty());
        if (!v.ok) continue;
        q.take(from, ask);
        held.push_back({from, ask});
      }
      check_rules(w, held);
    }
    for (const Held& h : held) q.give(h.queue, h.a);
    for (QueueIndex i = 0; i < q.size(); ++i) RC_ASSERT(q.in_use(i) == Amounts{});
  }));
}

TEST(QuotasProperty, AGuaranteeCanAlwaysBeHadBack) {
  int reclaimed = 0;
  EXPECT_TRUE(rc::check([&](std::uint64_t seed) {
    Prng r(seed, "reclaim");
    const World w = random_world(r);
    Quotas q(w.specs, pool(w.gpus));
    std::vector<Held> held;
    for (int step = 0; step < 150; ++step) {
      const auto from = static_cast<QueueIndex>(r.below(q.size()));
      const Amounts ask = q.ask(static_cast<std::uint32_t>(1 + r.below(16'000)));
      if (!q.allows(from, ask)) continue;
      q.take(from, ask);
      held.push_back({from, ask});
    }
    for (int step = 0; step < 20; ++step) {
      const auto asker = static_cast<QueueIndex>(r.below(q.size()));
      const Amounts ask = q.ask(static_cast<std::uint32_t>(1 + r.below(30'000)));
      if (!q.within_guarantee(asker, ask)) continue;
      while (!q.allows(asker, ask)) {
        // Any of those who must give, whoever it is.
        std::vector<std::size_t> givers;
        for (std::size_t i = 0; i < held.size(); ++i) {
          if (q.must_give(held[i].queue, asker, ask)) givers.push_back(i);
        }
        RC_ASSERT(!givers.empty());
        RC_ASSERT(!q.givers(asker, ask).empty());
        const std::size_t i = givers[r.below(givers.size())];
        RC_ASSERT(held[i].queue != asker);
        q.give(held[i].queue, held[i].a);
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(i));
        ++reclaimed;
      }
      q.take(asker, ask);
      held.push_back({asker, ask});
    }
  }));
  EXPECT_GT(reclaimed, 20);
}

TEST(QuotasProperty, TheOrderIsTheSameForTheSameInputAndServesEveryQueueOnce) {
  EXPECT_TRUE(rc::check([](std::uint64_t seed) {
    const auto make = [&] {
      Prng r(seed, "order");
      const World w = random_world(r);
      Quotas q(w.specs, pool(w.gpus));
      std::vector<Usage> past(q.size());
      for (Usage& u : past) u.amount[0] = r.unit() * 1e9;
      for (int i = 0; i < 10; ++i)
        q.take(static_cast<QueueIndex>(r.below(q.size())), q.ask(static_cast<std::uint32_t>(r.below(9000))));
      q.set_past(past, days(1));
      return q.order();
    };
    auto a = make();
    RC_ASSERT(a == make());
    std::sort(a.begin(), a.end());
    for (QueueIndex i = 0; i < a.size(); ++i) RC_ASSERT(a[i] == i);
  }));
}

// Queues that always have jobs waiting get GPU-time in proportion to their weights, after a start that was unfair.
TEST(QuotasProperty, SharesConvergeToTheWeightsWithinAFewHalfLives) {
  EXPECT_TRUE(rc::check([](std::uint64_t seed) {
    Prng r(seed, "shares");
    const auto n = static_cast<std::uint32_t>(2 + r.below(3));
    std::vector<QueueSpec> specs;
    double weights = 0;
    for (std::uint32_t i = 0; i < n; ++i) {
      specs.push_back(queue("q" + std::to_string(i), 0));
      specs.back().weight = 1 + static_cast<double>(r.below(4));
      weights += specs.back().weight;
    }
    constexpr std::int64_t kGpus = 64;
    const Duration half_life = hours(12);
    Quotas q(specs, pool(kGpus));
    std::vector<Usage> past(q.size());
    past[1].amount[0] = 1e3 * kGpus * half_life.seconds();  // the first queue had it all
    struct Running {
      Time ends;
      QueueIndex queue;
      Amounts a;
    };
    std::vector<Running> running;
    std::vector<double> got(q.size());
    const Duration step = minutes(10);
    for (Time now; now < Time{} + days(10); now = now + step) {
      std::erase_if(running, [&](const Running& j) {
        if (j.ends > now) return false;
        q.give(j.queue, j.a);
        return true;
      });
      for (QueueIndex i = 0; i < q.size(); ++i) accrue(past[i], q.in_use(i), now, half_life);
      q.set_past(past, half_life);
      const Amounts ask = whole_gpus(static_cast<std::int64_t>(1 + r.below(4)));
      while (q.allows(kRootQueue, ask)) {
        const auto order = q.order();
        const QueueIndex next = order[0] == kRootQueue ? order[1] : order[0];  // the root has no jobs of its own
        q.take(next, ask);
        running.push_back({now + minutes(static_cast<std::int64_t>(20 + r.below(400))), next, ask});
      }
      if (now >= Time{} + days(4)) {
        for (QueueIndex i = 1; i < q.size(); ++i) got[i] += static_cast<double>(q.in_use(i)[0]);
      }
    }
    double all = 0;
    for (const double g : got) all += g;
    for (QueueIndex i = 1; i < q.size(); ++i) {
      const double fair = specs[i - 1].weight / weights;
      RC_ASSERT(std::abs(got[i] / all - fair) < 0.03);
    }
  }));
}

}  // namespace
}  // namespace muster::decide
