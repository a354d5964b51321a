#include "decide/schedule/rank.h"

#include <gtest/gtest.h>

#include "decide/schedule/estimate.h"
#include "decide/schedule/schedule_fixture.h"

namespace muster::decide {
namespace {

std::vector<std::uint32_t> ids(const std::vector<Waiter>& w, Time now, const RankPolicy& p = {}) {
  std::vector<std::uint32_t> out;
  for (const Ranked& r : rank(w, now, p)) out.push_back(w[r.index].id.number);
  return out;
}

using Ids = std::vector<std::uint32_t>;

TEST(Rank, ShorterAndNarrowerComeFirst) {
  EXPECT_EQ(ids({waiter(1, 1, 8, 3600), waiter(2, 1, 1, 3600), waiter(3, 1, 1, 60)}, at_s(10)), (Ids{3, 2, 1}));
}

TEST(Rank, PriorityOutweighsLength) {
  std::vector<Waiter> w = {waiter(1, 1, 1, 60), waiter(2, 1, 1, 86400)};
  w[1].priority = 1;
  EXPECT_EQ(ids(w, at_s(10)), (Ids{2, 1}));
}

TEST(Rank, AQueueThatHadMoreThanItsShareComesLater) {
  std::vector<Waiter> w = {waiter(1, 1, 1, 60), waiter(2, 1, 1, 60)};
  w[0].fairness = 2;
  EXPECT_EQ(ids(w, at_s(10)), (Ids{2, 1}));
}

TEST(Rank, ValueBringsForward) {
  RankPolicy p;
  p.value_scale = 1;
  std::vector<Waiter> w = {waiter(1, 1, 1, 60), waiter(2, 1, 1, 100)};
  w[1].value = 5;
  EXPECT_EQ(ids(w, at_s(10), p), (Ids{2, 1}));
}

TEST(Rank, WhoWaitedTooLongIsFirstOfHisPriorityAndInTheEndOfAll) {
  RankPolicy p;
  p.wait_limit = hours(1);
  std::vector<Waiter> w = {waiter(1, 1, 8, 86400, 0), waiter(2, 1, 1, 60, 3000), waiter(3, 1, 1, 60, 10)};
  w[1].priority = 9;
  EXPECT_EQ(ids(w, at_s(3605), p), (Ids{2, 1, 3}));
  EXPECT_EQ(ids(w, at_s(3615), p), (Ids{2, 1, 3}));  // who was due first
  EXPECT_EQ(ids(w, at_s(3 * 3600 + 5), p), (Ids{1, 2, 3})) << "three times the limit: whatever the priority";
}

TEST(Rank, ForWhomOthersWereStoppedIsFirst) {
  std::vector<Waiter> w = {waiter(1, 1, 1, 60), waiter(2, 1, 8, 3600)};
  w[1].promised = true;
  EXPECT_EQ(ids(w, at_s(10)), (Ids{2, 1}));
}

TEST(Rank, LittleSlackIsUrgentAndNoneIsLate) {
  std::vector<Waiter> w = {waiter(1, 1, 1, 60), waiter(2, 1, 1, 3600), waiter(3, 1, 1, 3600), waiter(4, 1, 1, 60)};
  w[1].deadline = at_s(3700);
  w[2].deadline = at_s(3650);
  w[3].deadline = at_s(30);
  EXPECT_EQ(ids(w, at_s(0)), (Ids{3, 2, 1, 4}));
  w[3].value = 1;  // worth something even so
  EXPECT_EQ(ids(w, at_s(0)), (Ids{3, 2, 1, 4}));
  EXPECT_EQ(band_of(w[3], at_s(0), {}), Band::open);
}

TEST(Rank, WhoSteppedAsideIsLastUntilItsPauseEndsAndThenFirst) {
  std::vector<Waiter> w = {waiter(1, 1, 1, 60), waiter(2, 1, 1, 30)};
  w[1].paused_until = at_s(100);
  EXPECT_EQ(ids(w, at_s(99)), (Ids{1, 2}));
  EXPECT_EQ(ids(w, at_s(100)), (Ids{2, 1}));
}

TEST(Rank, ItSaysWhy) {
  Waiter w = waiter(1, 1, 8, 7200);
  EXPECT_EQ(why(w, at_s(0), {}), "8 GPUs for about 2h 00m");
  Waiter part = w;
  part.shape.milli = 250;
  EXPECT_EQ(why(part, at_s(0), {}), "250 thousandths of a GPU for about 2h 00m");
  EXPECT_NE(why(w, at_s(9 * 3600), {}).find("overdue: has waited 9h"), std::string::npos);
}

TEST(Estimate, TheNarrowestHistoryWithEnoughRunsIsTaken) {
  Histories h;
  for (int i = 0; i < 6; ++i) h.add("ann", "train-" + std::to_string(i), seconds(100));
  for (int i = 0; i < 6; ++i) h.add("ann", "eval", seconds(10));
  EXPECT_EQ(estimate_run(h, "ann", "train-77", {}).from, EstimateFrom::name);
  EXPECT_NEAR(estimate_run(h, "ann", "train-77", {}).run.seconds(), 100, 20);
  EXPECT_EQ(estimate_run(h, "ann", "new", {}).from, EstimateFrom::user);
  EXPECT_EQ(estimate_run(h, "bob", "new", {}).from, EstimateFrom::all);
  EXPECT_EQ(estimate_run(h, "bob", "new", hours(2)).run, hours(2));
  EXPECT_EQ(estimate_run(h, "ann", "train-1", seconds(50)).run, seconds(50));  // never more than the limit
  EXPECT_EQ(estimate_run({}, "bob", "new", {}).from, EstimateFrom::nothing);
}

TEST(Estimate, AnOutlivedEstimateIsDoubledUntilItLiesAhead) {
  EXPECT_EQ(expected_end(at_s(0), seconds(100), at_s(50)), at_s(100));
  EXPECT_EQ(expected_end(at_s(0), seconds(100), at_s(100)), at_s(200));
  EXPECT_EQ(expected_end(at_s(0), seconds(100), at_s(799)), at_s(800));
  EXPECT_GT(expected_end(at_s(0), Duration{}, at_s(5)), at_s(5));
}

TEST(Rank, FairnessIsToldAsTheWeightItIs) {
  Waiter w;
  w.gpus = 8;
  w.expected = hours(1);
  w.fairness = 0.7;
  const std::string said = why(w, Time{0}, {});
  EXPECT_EQ(said, "8 GPUs for about 1h 00m, weighed by 0.70 for its queue's place in the order of fairness");
}

}  // namespace
}  // namespace muster::decide
