// The planner of deferrable work against an independent solver (min-cost flow by shortest paths), and its deadlines.
#include "decide/energy/defer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <deque>
#include <limits>
#include <optional>

namespace muster::decide {
namespace {

// Min-cost flow by Bellman-Ford augmentation, unit by unit: slow, and nothing in common with greedy.
struct Flow {
  struct Edge {
    std::size_t to;
    std::int64_t room;
    double cost;
  };
  std::vector<Edge> edges;
  std::vector<std::vector<std::size_t>> out;
  explicit Flow(std::size_t n) : out(n) {}
  void edge(std::size_t a, std::size_t b, std::int64_t room, double cost) {
    out[a].push_back(edges.size());
    edges.push_back({b, room, cost});
    out[b].push_back(edges.size());
    edges.push_back({a, 0, -cost});
  }
  // All that fits from `s` to `t`, and what it costs.
  std::pair<std::int64_t, double> fill(std::size_t s, std::size_t t) {
    std::int64_t total = 0;
    double cost = 0;
    for (;;) {
      std::vector<double> far(out.size(), std::numeric_limits<double>::infinity());
      std::vector<std::size_t> by(out.size(), SIZE_MAX);
      far[s] = 0;
      for (std::size_t round = 0; round < out.size(); ++round) {
        for (std::size_t a = 0; a < out.size(); ++a) {
          for (const std::size_t e : out[a]) {
            if (edges[e].room > 0 && far[a] + edges[e].cost < far[edges[e].to] - 1e-12) {
              far[edges[e].to] = far[a] + edges[e].cost;
              by[edges[e].to] = e;
            }
          }
        }
      }
      if (by[t] == SIZE_MAX) return {total, cost};
      for (std::size_t v = t; v != s; v = edges[by[v] ^ 1].to) {
        --edges[by[v]].room;
        ++edges[by[v] ^ 1].room;
      }
      ++total;
      cost += far[t];
    }
  }
};

// Least cost of doing as much of the work as can be done, with exactly `first` units in hour 0 where given.
std::optional<double> solve(const std::vector<double>& price, const std::vector<Batch>& work, std::int64_t capacity,
                            std::optional<std::int64_t> first, std::int64_t& done) {
  const std::size_t n = price.size();
  Flow f(2 + work.size() + n);
  for (std::size_t i = 0; i < work.size(); ++i) {
    f.edge(0, 2 + i, work[i].units, 0);
    for (std::size_t h = work[i].from; h <= std::min<std::size_t>(work[i].due, n - 1); ++h)
      f.edge(2 + i, 2 + work.size() + h, work[i].units, 0);
  }
  constexpr double kMust = -1e6;  // makes hour 0 take its units before anything else is weighed
  for (std::size_t h = 0; h < n; ++h) {
    const bool fixed = first && h == 0;
    f.edge(2 + work.size() + h, 1, fixed ? *first : capacity, fixed ? price[h] + kMust : price[h]);
  }
  const auto [units, cost] = f.fill(0, 1);
  done = units;
  if (!first) return cost;
  const double rest = cost - kMust * static_cast<double>(*first);
  if (std::abs(rest) > 1e5) return std::nullopt;  // hour 0 could not be filled
  return rest;
}

struct Problem {
  std::vector<double> price;
  std::vector<Batch> work;
  std::int64_t capacity = 1;
};

Problem draw(bool ordered) {
  Problem p;
  const auto n = *rc::gen::inRange<std::size_t>(1, 7);
  for (std::size_t i = 0; i < n; ++i) p.price.push_back(*rc::gen::inRange(-3, 12));
  p.capacity = *rc::gen::inRange<std::int64_t>(1, 4);
  const auto last = static_cast<std::uint32_t>(n - 1);
  const auto slack = *rc::gen::inRange<std::uint32_t>(0, 5);
  const auto batches = *rc::gen::inRange(0, 5);
  for (int b = 0; b < batches; ++b) {
    const auto from = *rc::gen::inRange<std::uint32_t>(0, last + 1);
    const auto due = ordered ? from + slack : from + *rc::gen::inRange<std::uint32_t>(0, 5);
    p.work.push_back({from, std::min(due, last), *rc::gen::inRange<std::int64_t>(0, 4)});
  }
  return p;
}

RC_GTEST_PROP(Defer, the_cheapest_schedule_costs_what_an_independent_solver_finds, ()) {
  const Problem p = draw(true);
  std::int64_t possible = 0;
  const double best = *solve(p.price, p.work, p.capacity, std::nullopt, possible);
  const auto run = cheapest_schedule(p.price, p.work, p.capacity);
  double cost = 0;
  std::int64_t units = 0;
  for (std::size_t h = 0; h < run.size(); ++h) {
    RC_ASSERT(run[h] >= 0 && run[h] <= p.capacity);
    cost += p.price[h] * static_cast<double>(run[h]);
    units += run[h];
  }
  RC_ASSERT(units == possible);
  RC_ASSERT(std::abs(cost - best) < 1e-6);
}

RC_GTEST_PROP(Defer, what_it_runs_now_is_part_of_an_optimum, ()) {
  const Problem p = draw(*rc::gen::arbitrary<bool>());
  std::int64_t possible = 0;
  const double best = *solve(p.price, p.work, p.capacity, std::nullopt, possible);
  std::int64_t all = 0;
  for (const Batch& b : p.work) all += b.units;
  RC_PRE(possible == all);  // with more work than can be done in time it runs all it can
  const std::int64_t now = run_now(p.price, p.work, p.capacity);
  std::int64_t done = 0;
  const auto with = solve(p.price, p.work, p.capacity, now, done);
  RC_ASSERT(with.has_value());
  RC_ASSERT(done == all);
  RC_ASSERT(std::abs(*with - best) < 1e-6);
}

RC_GTEST_PROP(Defer, no_deadline_is_missed_whatever_the_prices, ()) {
  const auto capacity = *rc::gen::inRange<std::int64_t>(1, 6);
  const auto slack = *rc::gen::inRange<std::size_t>(1, 9);
  std::deque<std::int64_t> due(slack, 0);
  for (int hour = 0; hour < 60; ++hour) {
    due.back() += hour < 40 ? *rc::gen::inRange<std::int64_t>(0, capacity + 1) : 0;
    std::vector<double> price(slack + 4);
    for (double& x : price) x = *rc::gen::inRange(-5, 50);
    std::vector<Batch> work;
    for (std::uint32_t k = 0; k < slack; ++k) work.push_back({0, k, due[k]});
    std::int64_t run = run_now(price, work, capacity);
    for (auto& d : due) {
      const std::int64_t x = std::min(d, run);
      d -= x;
      run -= x;
    }
    RC_ASSERT(run == 0);
    RC_ASSERT(due.front() == 0);
    due.pop_front();
    due.push_back(0);
  }
}

TEST(Defer, waits_for_the_cheap_hour_and_not_beyond_the_deadline) {
  const std::vector<double> price = {9, 3, 5, 1};
  EXPECT_EQ(run_now(price, std::vector<Batch>{{0, 3, 4}}, 4), 0);
  EXPECT_EQ(run_now(price, std::vector<Batch>{{0, 0, 2}, {0, 3, 4}}, 4), 2);
  EXPECT_EQ(run_now(price, std::vector<Batch>{{0, 1, 6}}, 4), 2);
  EXPECT_EQ(run_now(price, std::vector<Batch>{{0, 3, 40}}, 4), 4) << "more than can be done: all that can";
  // What is still to come needs the cheap hours.
  EXPECT_EQ(run_now(price, std::vector<Batch>{{0, 3, 4}, {1, 3, 12}}, 4), 4);
}

TEST(Defer, valuable_work_runs_when_power_is_dear) {
  EXPECT_TRUE(worth_running(2.5, 900, 1.3));
  EXPECT_FALSE(worth_running(0.05, 60, 1.3));
  EXPECT_TRUE(worth_running(0.05, 30, 1.3));
  EXPECT_TRUE(worth_running(0, -1, 1.3)) << "negative prices pay for anything";
}

}  // namespace
}  // namespace muster::decide
