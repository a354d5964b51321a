// What a journal is worth: the state, the books and every decision come out of it again, wherever the controller died.
#include <gtest/gtest.h>

#include "control/books.h"
#include "control/replay.h"
#include "trial/checker.h"
#include "trial/controlled.h"

namespace muster::trial {
namespace {

control::Books fold_all(const std::vector<Event>& events) {
  control::Books b;
  for (const Event& e : events) control::fold_event(b, e);
  return b;
}

std::vector<std::string> violations(const Controlled& c) {
  Checker checker(c.site, c.policy);
  control::Books b;
  for (const Event& e : c.journal.events) {
    control::fold_event(b, e);
    checker.on_event(e, b.state);
  }
  checker.on_books(b.accounts, b.state);
  return checker.violations();
}

// No job that was ever submitted is forgotten: it is alive, or it ended.
void expect_no_job_lost(const Controlled& c) {
  const State& s = c.loop->state();
  std::uint64_t alive = 0;
  for (const auto& [id, j] : s.jobs) alive += ended(j.phase) ? 0 : 1;
  EXPECT_EQ(s.totals.jobs_submitted, alive + s.totals.jobs_completed + s.totals.jobs_failed + s.totals.jobs_cancelled);
  for (const auto& [id, j] : s.jobs) {
    EXPECT_EQ(j.phase == JobPhase::queued, s.queue.count({j.order, id}) == 1) << render(id);
  }
}

TEST(History, TheStateIsTheFoldOfItsEvents) {
  Controlled c(stormy());
  c.run(hours(18));
  ASSERT_GT(c.journal.events.size(), 1000U);
  ASSERT_GT(c.twin.faults().size(), 20U);
  const control::Books b = fold_all(c.journal.events);
  EXPECT_EQ(encode_state(b.state), encode_state(c.loop->state()));
  EXPECT_EQ(encode_accounts(b.accounts), encode_accounts(c.loop->accounts()));
  EXPECT_EQ(violations(c), std::vector<std::string>{});
}

TEST(History, ASnapshotAndTheEventsAfterItGiveTheSameState) {
  Controlled c(stormy(2));
  c.snapshot_every = 700;
  c.start();
  c.run(hours(18));
  ASSERT_TRUE(c.journal.snapshot);
  ASSERT_LT(c.journal.snapshot->seq, c.journal.last_seq());
  const auto restored = control::restore(c.journal, PlainJson::parse);
  ASSERT_TRUE(restored) << restored.error().what;
  EXPECT_EQ(encode_state(restored->state), encode_state(c.loop->state()));
  EXPECT_EQ(encode_accounts(restored->accounts), encode_accounts(c.loop->accounts()));
}

TEST(History, ASnapshotThatCannotBeReadIsWorthNothingAndHarmsNothing) {
  Controlled c(stormy(2));
  c.run(hours(3));
  const std::string before = encode_state(c.loop->state());
  ASSERT_TRUE(c.loop->stop());
  const StoredSnapshot good = *c.journal.snapshot;
  for (int damage = 0; damage < 3; ++damage) {
    StoredSnapshot bad = good;
    if (damage == 0) bad.bytes.resize(bad.bytes.size() / 2);
    if (damage == 1) bad.fold_version += 1;
    if (damage == 2) bad.seq -= 1;
    c.journal.snapshot = bad;
    const auto restored = control::restore(c.journal, PlainJson::parse);
    ASSERT_TRUE(restored);
    EXPECT_EQ(encode_state(restored->state), before);
  }
}

class Killed : public ::testing::TestWithParam<int> {};

TEST_P(Killed, AndRestartedAfterEveryKthTurnItLosesNothingAndDoesNothingTwice) {
  twin::Config config = stormy(3);
  config.full_scrapes = true;  // as on machines: what is still wrong is still reported to the next controller
  Controlled c(config, roomy_policy());
  c.snapshot_every = 500;  // or each start would read everything again
  c.restart_every(GetParam(), GetParam() < 5 ? hours(3) : hours(12));
  ASSERT_TRUE(c.loop) << c.error;
  EXPECT_TRUE(c.heals(days(6))) << c.ailing();
  EXPECT_EQ(c.wire.sent_twice, 0U);
  EXPECT_EQ(c.twin.counters().duplicate_orders, 0U);
  EXPECT_EQ(violations(c), std::vector<std::string>{});
  expect_no_job_lost(c);
  EXPECT_EQ(encode_state(fold_all(c.journal.events).state), encode_state(c.loop->state()));
  const auto r = control::replay(c.journal, std::nullopt);
  ASSERT_TRUE(r);
  EXPECT_FALSE(r->difference) << r->difference->recorded << "\n" << r->difference->decided;
}
INSTANTIATE_TEST_SUITE_P(Every, Killed, ::testing::Values(1, 2, 7, 50));

TEST(History, AControllerThatDiesBetweenTheFactsAndItsDecisionsDecidesAfterItsRestart) {
  Controlled c(stormy(4), roomy_policy());
  const Time end = c.twin.now().utc + hours(12);
  int deaths = 0;
  while (c.twin.now().utc < end) {
    if (c.journal.dies_before_decisions == 0) c.journal.dies_before_decisions = 4;
    if (c.turn()) continue;
    ++deaths;
    c.start();
    ASSERT_TRUE(c.loop) << c.error;
  }
  EXPECT_GT(deaths, 20);
  c.journal.dies_before_decisions = 0;
  EXPECT_TRUE(c.heals(days(6))) << c.ailing();
  EXPECT_EQ(c.wire.sent_twice, 0U);
  EXPECT_EQ(violations(c), std::vector<std::string>{});
  expect_no_job_lost(c);
  const auto r = control::replay(c.journal, std::nullopt);
  ASSERT_TRUE(r);
  EXPECT_FALSE(r->difference) << r->difference->recorded << "\n" << r->difference->decided;
}

TEST(History, AReplayDecidesEverythingAgainTheSame) {
  Controlled c(stormy(5));
  c.run(hours(18));
  const auto r = control::replay(c.journal, std::nullopt);
  ASSERT_TRUE(r) << r.error().what;
  EXPECT_FALSE(r->difference) << r->difference->recorded << "\n" << r->difference->decided;
  EXPECT_GT(r->decisions, 300U);
  EXPECT_EQ(r->events, c.journal.events.size());
}

TEST(History, AReplayWithOtherLimitsFindsTheFirstDecisionThatDiffers) {
  Controlled c(stormy(5));
  c.run(hours(18));
  Policy tight = c.policy;
  tight.limits.harm_per_hour_pct = 0;
  tight.limits.harm_per_hour_floor = 0;
  const auto r = control::replay(c.journal, tight);
  ASSERT_TRUE(r) << r.error().what;
  ASSERT_TRUE(r->difference);
  EXPECT_NE(r->difference->recorded.find("order_intended"), std::string::npos) << r->difference->recorded;
  EXPECT_NE(r->difference->decided.find("harmful acts in the last hour: 0 of 0"), std::string::npos) << r->difference->decided;
  EXPECT_EQ(r->books.state.turn, r->difference->turn) << "the state just before it, to go on from";
}

TEST(History, TwoRunsOfASeedAreTheSameAndTwoSeedsAreNot) {
  std::vector<std::string> digests;
  for (const std::uint64_t seed : {6U, 6U, 7U}) {
    Controlled c(stormy(seed));
    c.run(hours(8));
    digests.push_back(render_hex(c.journal.head()));
  }
  EXPECT_EQ(digests[0], digests[1]);
  EXPECT_NE(digests[0], digests[2]);
}

TEST(History, AJournalOfAnotherClusterIsRefused) {
  Controlled c(stormy());
  c.run(minutes(5));
  c.site.nodes[3].name = "renamed";
  c.start();
  EXPECT_FALSE(c.loop);
  EXPECT_NE(c.error.find("the journal is of cluster"), std::string::npos) << c.error;
}

}  // namespace
}  // namespace muster::trial
