#include "decide/schedule/backfill.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "decide/schedule/schedule_fixture.h"

namespace muster::decide {
namespace {

Shape shape(std::uint32_t pieces, std::uint32_t gpus) {
  Shape s;
  s.pieces = pieces;
  s.gpus = gpus;
  return s;
}

Pass pass_of(Tree& tree, const Holding& held, const std::vector<Waiter>& w, double now_s, BackfillPolicy policy = {}) {
  const auto runners = held.runners();
  return backfill(tree, w, rank(w, at_s(now_s), {}), runners, at_s(now_s), policy);
}

std::vector<std::uint32_t> started(const Pass& p) {
  std::vector<std::uint32_t> out;
  for (const Start& s : p.starts) out.push_back(s.id.number);
  return out;
}

using Ids = std::vector<std::uint32_t>;

TEST(Backfill, AShortJobPassesABlockedGangALongOneDoesNot) {
  Tree tree(small_layout(2, 8, 2));
  Holding held(tree);
  ASSERT_TRUE(held.start(90, shape(1, 8), 1000));
  std::vector<Waiter> w = {waiter(1, 2, 8, 100), waiter(2, 1, 8, 900), waiter(3, 1, 8, 5000)};
  w[0].priority = 1;
  const Pass p = pass_of(tree, held, w, 0);
  EXPECT_EQ(started(p), (Ids{2}));
  ASSERT_GE(p.reservations.size(), 1U);
  EXPECT_EQ(p.reservations[0].id.number, 1U);
  EXPECT_EQ(p.reservations[0].at, at_s(1000));
  EXPECT_EQ(p.reservations[0].after, (std::vector<JobId>{JobId{90, 0}}));
}

TEST(Backfill, ALongJobMayTakeNodesThatAreNotReserved) {
  Tree tree(small_layout(3, 8, 3));
  Holding held(tree);
  ASSERT_TRUE(held.start(90, shape(1, 8), 1000));
  ASSERT_TRUE(held.start(91, shape(1, 8), 90000));
  std::vector<Waiter> w = {waiter(1, 2, 8, 100), waiter(2, 1, 4, 50000)};
  w[0].priority = 1;
  const Pass p = pass_of(tree, held, w, 0);
  EXPECT_TRUE(p.starts.empty());  // the one free node is reserved
  Tree wide(small_layout(4, 8, 4));
  Holding more(wide);
  ASSERT_TRUE(more.start(90, shape(1, 8), 1000));
  ASSERT_TRUE(more.start(91, shape(1, 8), 90000));
  w[0].shape.pieces = 3;
  w[0].gpus = 24;
  EXPECT_TRUE(pass_of(wide, more, w, 0).starts.empty());
  w[1].expected = seconds(1000);  // until the reservation begins, and no longer
  EXPECT_EQ(started(pass_of(wide, more, w, 0)), (Ids{2}));
}

TEST(Backfill, ReservationsAreInPlacesNotInCounts) {
  // Eight GPUs are free, in two halves: a gang of eight in one node must wait for one of the nodes.
  Tree tree(small_layout(2, 8, 2));
  Holding held(tree);
  for (std::uint32_t i = 0; i < 2; ++i) ASSERT_TRUE(held.start(90 + i, shape(1, 5), 1000.0 * (i + 1)));
  const std::vector<Waiter> w = {waiter(1, 1, 8, 100)};
  const Pass p = pass_of(tree, held, w, 0);
  EXPECT_TRUE(p.starts.empty());
  ASSERT_EQ(p.reservations.size(), 1U);
  EXPECT_EQ(p.reservations[0].at, at_s(1000));
}

TEST(Backfill, WhatPrefersOneNodeTakesTwoWhenItMust) {
  Tree tree(small_layout(2, 8, 2));
  Holding held(tree);
  for (std::uint32_t i = 0; i < 2; ++i) ASSERT_TRUE(held.start(90 + i, shape(1, 5), 1000));
  std::vector<Waiter> w = {waiter(1, 1, 6, 100)};
  w[0].or_else = shape(6, 1);
  EXPECT_EQ(started(pass_of(tree, held, w, 0)), (Ids{1}));
}

TEST(Backfill, TheTopHaveReservationsThatDoNotOverlap) {
  Tree tree(small_layout(2, 8, 2));
  Holding held(tree);
  ASSERT_TRUE(held.start(90, shape(1, 8), 1000));
  ASSERT_TRUE(held.start(91, shape(1, 8), 2000));
  std::vector<Waiter> w = {waiter(1, 1, 8, 500), waiter(2, 1, 8, 600), waiter(3, 1, 8, 700)};
  const Pass p = pass_of(tree, held, w, 0);
  ASSERT_EQ(p.reservations.size(), 3U);
  EXPECT_EQ(p.reservations[0].at, at_s(1000));
  EXPECT_EQ(p.reservations[1].at, at_s(1500));  // after the first one's own end
  EXPECT_EQ(p.reservations[2].at, at_s(2000));
}

TEST(Backfill, WorkIsBoundedAndSaysSo) {
  Tree tree(small_layout(4, 8, 4));
  Holding held(tree);
  std::vector<Waiter> w;
  for (std::uint32_t i = 1; i <= 20; ++i) w.push_back(waiter(i, 1, 1, 100));
  BackfillPolicy policy;
  policy.depth = 5;
  const Pass p = pass_of(tree, held, w, 0, policy);
  EXPECT_EQ(p.starts.size(), 5U);
  EXPECT_TRUE(p.cut);
}

TEST(Backfill, OneRefusalSpeaksForAllOfTheShape) {
  Tree tree(small_layout(2, 8, 2));
  Holding held(tree);
  ASSERT_TRUE(held.start(90, shape(2, 8), 1000));
  std::vector<Waiter> w;
  for (std::uint32_t i = 1; i <= 50; ++i) w.push_back(waiter(i, 1, 1, 100));
  BackfillPolicy policy;
  policy.always_reserve = false;
  EXPECT_EQ(pass_of(tree, held, w, 0, policy).tries, 1U);
}

// A queue and a cluster run with exact run times, checked at every step.
struct World {
  std::uint32_t nodes = 4;
  std::vector<Waiter> coming;  // by queued
  RankPolicy rank;
  BackfillPolicy policy;
};

World random_world() {
  World w;
  w.nodes = *rc::gen::inRange<std::uint32_t>(1, 6);
  const auto jobs = *rc::gen::inRange<std::uint32_t>(1, 40);
  double t = 0;
  for (std::uint32_t i = 1; i <= jobs; ++i) {
    t += *rc::gen::inRange(0, 200);
    const bool gang = *rc::gen::inRange(0, 4) == 0;
    const auto pieces = gang ? *rc::gen::inRange<std::uint32_t>(1, w.nodes + 1) : 1;
    const auto gpus = gang ? 4 : *rc::gen::inRange<std::uint32_t>(1, 5);
    w.coming.push_back(waiter(i, pieces, gpus, *rc::gen::inRange(1, 2000), t));
    if (gpus > 1 && *rc::gen::arbitrary<bool>()) w.coming.back().or_else = shape(pieces * gpus, 1);
  }
  w.rank.wait_limit = seconds(*rc::gen::inRange(100, 3000));
  w.policy.reserve = *rc::gen::inRange<std::uint32_t>(1, 5);
  w.policy.always_reserve = true;
  return w;
}

struct Seen {
  std::map<std::uint32_t, Time> start;
  std::map<std::uint32_t, std::uint32_t> due_before;  // jobs whose turn was due when its own became due
};

Seen play(const World& world) {
  const Layout layout = small_layout(world.nodes, 4, 2);
  Tree tree(layout);
  Holding held(tree);
  std::vector<Waiter> waiting;
  std::size_t next = 0;
  Seen seen;
  std::map<std::uint32_t, Time> first_promise;  // of whoever is first in the order
  Time now;
  while (next < world.coming.size() || !waiting.empty() || held.size() > 0) {
    Time t = held.next_end();
    if (next < world.coming.size()) t = std::min(t, world.coming[next].queued);
    RC_ASSERT(t != kNever);  // somebody waits and nothing runs: that would be for ever
    now = t;
    held.end_until(now);
    while (next < world.coming.size() && world.coming[next].queued <= now) waiting.push_back(world.coming[next++]);
    std::uint32_t due = 0;
    const auto order = rank(waiting, now, world.rank);
    for (const Ranked& r : order) {
      if (r.band != Band::overdue) continue;
      seen.due_before.emplace(waiting[r.index].id.number, due);
      ++due;
    }
    const auto runners = held.runners();
    const Pass p = backfill(tree, waiting, order, runners, now, world.policy);
    std::vector<char> gone(waiting.size(), 0);
    for (const Start& s : p.starts) {
      gone[s.index] = 1;
      seen.start[s.id.number] = now;
      held.add(s.id, s.choice, now + waiting[s.index].expected);
    }
    // A promise to one that stays first in the order, as the overdue do, is kept or bettered.
    if (!p.reservations.empty() && band_of(waiting[p.reservations[0].index], now, world.rank) == Band::overdue &&
        p.reservations[0].index == order.front().index) {
      const std::uint32_t id = p.reservations[0].id.number;
      RC_ASSERT(p.reservations[0].at != kNever);
      if (first_promise.count(id) != 0) RC_ASSERT(p.reservations[0].at <= first_promise[id]);
      first_promise[id] = p.reservations[0].at;
    }
    std::vector<Waiter> rest;
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (gone[i] == 0) rest.push_back(waiting[i]);
    }
    waiting = std::move(rest);
    // Never more than there is: the tree aborts on taking what is taken; and it holds exactly what runs.
    std::uint32_t used = 0;
    for (const Runner& r : held.runners()) {
      for (const std::uint16_t s : r.where->slots) used += static_cast<std::uint32_t>(__builtin_popcount(s));
    }
    RC_ASSERT(used + tree.free_gpus() == world.nodes * 4);
  }
  for (const auto& [id, at] : first_promise) RC_ASSERT(seen.start[id] <= at);
  return seen;
}

RC_GTEST_PROP(Backfill, NothingIsOverAllocatedAndPromisesToTheFirstAreKept, ()) { play(random_world()); }

RC_GTEST_PROP(Backfill, NoJobStarvesBeyondTheStatedBound, ()) {
  const World world = random_world();
  const Seen seen = play(world);
  Duration longest;
  for (const Waiter& w : world.coming) longest = std::max(longest, w.expected);
  for (const Waiter& w : world.coming) {
    const auto it = seen.due_before.find(w.id.number);
    const std::int64_t before = it == seen.due_before.end() ? 0 : it->second;
    // One run more: a job becomes overdue between two events, and is seen to be at the next.
    RC_ASSERT(seen.start.at(w.id.number) <= w.queued + world.rank.wait_limit + longest * (before + 2));
  }
}

RC_GTEST_PROP(Backfill, TheSameInputGivesTheSameOutput, ()) {
  const World world = random_world();
  RC_ASSERT(play(world).start == play(world).start);
}

RC_GTEST_PROP(Backfill, NoStartDelaysAReservation, ()) {
  // One pass on a cluster with jobs on it: with the starts taken, every reservation is still free at its time.
  World world = random_world();
  Tree tree(small_layout(world.nodes, 4, 2));
  Holding held(tree);
  std::vector<Waiter> waiting;
  for (const Waiter& w : world.coming) {
    if (w.id.number % 2 == 0 && held.start(1000 + w.id.number, w.shape, 1 + w.expected.seconds())) continue;
    waiting.push_back(w);
    waiting.back().queued = at_s(0);
  }
  const auto order = rank(waiting, at_s(0), {});
  const auto runners = held.runners();
  const Pass p = backfill(tree, waiting, order, runners, at_s(0), world.policy);
  for (std::size_t i = 0; i < p.reservations.size(); ++i) {
    const Reservation& r = p.reservations[i];
    if (r.at == kNever) continue;
    Tree then = tree;
    for (const Runner& x : runners) {
      if (x.expected_end <= r.at) then.give(*x.where);
    }
    for (const Start& s : p.starts) {
      if (at_s(0) + waiting[s.index].expected <= r.at) then.give(s.choice);
    }
    for (const Reservation& o : p.reservations) {
      const bool together = o.id != r.id && o.at <= r.at && o.at != kNever && r.at < o.at + waiting[o.index].expected;
      if (together) then.take(o.choice);  // aborts where they share a GPU
    }
    for (std::size_t n = 0; n < r.choice.nodes.size(); ++n) {
      RC_ASSERT((then.free_slots(r.choice.nodes[n]) & r.choice.slots[n]) == r.choice.slots[n]);
    }
  }
}

}  // namespace
}  // namespace muster::decide
