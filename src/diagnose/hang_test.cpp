#include "diagnose/hang.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace muster::diagnose {
namespace {

// Eight ranks, pairs of tensor ranks and two groups of replicas, each of which has called and ended `done` of each.
std::vector<FlightRecord> job(std::uint64_t done) {
  std::vector<FlightRecord> out;
  for (std::uint32_t r = 0; r < 8; ++r) {
    FlightRecord f;
    f.rank = r;
    f.groups = {{fmt::format("tp{}", r / 2), "tp", {r / 2 * 2, r / 2 * 2 + 1}}, {fmt::format("dp{}", r % 2), "dp", {}}};
    for (std::uint32_t i = r % 2; i < 8; i += 2) f.groups[1].ranks.push_back(i);
    for (std::uint64_t seq = 1; seq <= done; ++seq) {
      for (const std::uint32_t g : {0U, 1U})
        f.calls.push_back({g, seq, g == 0 ? "all_reduce" : "reduce_scatter", "[8]", "[2]", "BFloat16", ExchangeState::completed});
    }
    out.push_back(std::move(f));
  }
  return out;
}

void call(FlightRecord& f, std::uint32_t group, std::uint64_t seq, ExchangeState state, const char* op = "reduce_scatter") {
  f.calls.push_back({group, seq, op, "[8]", "[2]", "BFloat16", state});
}

TEST(Hang, NobodyWaits) {
  EXPECT_FALSE(find_hang(job(20)));
  EXPECT_FALSE(find_hang({}));
}

TEST(Hang, ARankThatNeverCalled) {
  auto all = job(20);
  for (const std::uint32_t r : {1U, 3U, 7U}) call(all[r], 1, 21, ExchangeState::started);
  const auto h = find_hang(all);
  ASSERT_TRUE(h);
  EXPECT_EQ(h->kind, HangKind::missing);
  EXPECT_EQ(h->culprits, std::vector<std::uint32_t>{5});
  EXPECT_EQ(h->seq, 21U);
  EXPECT_EQ(h->group, "dp1 (dp)");
  EXPECT_EQ(h->collective, "reduce_scatter [8] -> [2] BFloat16");
}

TEST(Hang, OthersWaitForThoseWhoWait) {
  auto all = job(20);
  // Rank 5 is away; its replicas wait for it, and their tensor ranks for them.
  for (const std::uint32_t r : {1U, 3U, 7U}) call(all[r], 1, 21, ExchangeState::started);
  for (const std::uint32_t r : {0U, 2U, 4U, 6U}) call(all[r], 0, 21, ExchangeState::started, "all_reduce");
  const auto h = find_hang(all);
  ASSERT_TRUE(h);
  EXPECT_EQ(h->culprits, std::vector<std::uint32_t>{5}) << "the one that waits for nobody";
}

TEST(Hang, ARankWithoutADump) {
  auto all = job(20);
  for (const std::uint32_t r : {1U, 3U, 7U}) call(all[r], 1, 21, ExchangeState::started);
  all.erase(all.begin() + 5);
  const auto h = find_hang(all);
  ASSERT_TRUE(h);
  EXPECT_EQ(h->kind, HangKind::missing);
  EXPECT_EQ(h->culprits, std::vector<std::uint32_t>{5});
  EXPECT_EQ(h->evidence.front(), "rank 5 left no dump");
}

TEST(Hang, ARankThatLeftNoDumpIsMissingButNotWhereMostLeftNone) {
  auto all = job(20);
  for (const std::uint32_t r : {1U, 3U, 7U}) call(all[r], 1, 21, ExchangeState::started);
  const std::vector<FlightRecord> some = {all[1], all[3], all[4], all[6]};
  const auto h = find_hang(some);
  ASSERT_TRUE(h);
  EXPECT_TRUE(h->unseen);
  EXPECT_FALSE(h->certain);
  EXPECT_EQ(h->waiting, (std::vector<std::uint32_t>{1, 3}));
  EXPECT_EQ(h->culprits, (std::vector<std::uint32_t>{5, 7})) << "those of the group that waits";
  EXPECT_EQ(h->no_dump, (std::vector<std::uint32_t>{0, 2, 5, 7}));
  const auto one = find_hang(std::vector<FlightRecord>{all[1]});
  ASSERT_TRUE(one);
  EXPECT_EQ(one->evidence.back(), "rank 1 waits in it");
}

TEST(Hang, TheOnlySilentOneOfThreeIsMissingAndOfTwoItIsNotKnown) {
  std::vector<FlightRecord> all;
  for (const std::uint32_t r : {0U, 1U}) {
    FlightRecord f;
    f.rank = r;
    f.groups = {{"0", "dp", {0, 1, 2}}};
    call(f, 0, 1, ExchangeState::started);
    all.push_back(std::move(f));
  }
  EXPECT_EQ(find_hang(all)->kind, HangKind::missing);
  EXPECT_TRUE(find_hang(all)->certain);
  all.pop_back();
  all[0].groups[0].ranks = {0, 1};
  EXPECT_TRUE(find_hang(all)->unseen) << "who is alone sees nobody else either way";
}

TEST(Hang, OneThatIsKnownNotToHaveCalledIsNamedBeforeThoseOfWhomNothingIsKnown) {
  auto all = job(20);
  for (const std::uint32_t r : {1U, 3U, 7U}) call(all[r], 1, 21, ExchangeState::started);
  const auto h = find_hang(std::vector<FlightRecord>{all[0], all[1], all[5]});
  ASSERT_TRUE(h);
  EXPECT_EQ(h->kind, HangKind::missing);
  EXPECT_EQ(h->culprits, std::vector<std::uint32_t>{5});
  EXPECT_FALSE(h->certain) << "3 and 7 may be missing as well";
}

TEST(Hang, NothingUnfinishedInSomeOfTheDumpsIsNotNothingUnfinished) {
  const auto all = job(20);
  const auto h = find_hang(std::vector<FlightRecord>{all[0], all[2], all[4], all[6]});
  ASSERT_TRUE(h) << "their tensor ranks are 1, 3, 5 and 7";
  EXPECT_TRUE(h->unseen);
  EXPECT_FALSE(h->certain);
  EXPECT_TRUE(h->waiting.empty());
  EXPECT_EQ(h->no_dump, (std::vector<std::uint32_t>{1, 3, 5, 7}));
}

TEST(Hang, ADumpWithNothingInItIsRemarked) {
  auto all = job(20);
  all[3].calls.clear();
  for (ExchangeGroup& g : all[3].groups) g.enqueued = g.started = g.completed = 20;
  auto h = find_hang(all);
  ASSERT_TRUE(h);
  EXPECT_TRUE(h->unseen);
  EXPECT_EQ(h->no_entries, std::vector<std::uint32_t>{3});
  EXPECT_EQ(h->evidence.front(), "the dump of rank 3 has no entries: what it called is not known");
  for (const std::uint32_t r : {1U, 3U, 7U}) call(all[r], 1, 21, ExchangeState::started);
  all[0].calls.clear();
  for (ExchangeGroup& g : all[0].groups) g.enqueued = g.started = g.completed = 20;
  h = find_hang(all);
  ASSERT_TRUE(h);
  EXPECT_EQ(h->culprits, std::vector<std::uint32_t>{5}) << "what is found goes first";
  EXPECT_EQ(h->no_entries, std::vector<std::uint32_t>{0});
}

TEST(Hang, ARankThatCalledAnother) {
  auto all = job(20);
  for (const std::uint32_t r : {1U, 5U, 7U}) call(all[r], 1, 21, ExchangeState::started);
  call(all[3], 1, 21, ExchangeState::started, "all_gather");
  const auto h = find_hang(all);
  ASSERT_TRUE(h);
  EXPECT_EQ(h->kind, HangKind::mismatch);
  EXPECT_EQ(h->culprits, std::vector<std::uint32_t>{3});
  EXPECT_TRUE(h->certain);
}

TEST(Hang, UnequalPiecesAreNoMismatch) {
  auto all = job(20);
  for (const std::uint32_t r : {1U, 3U, 5U, 7U}) {
    call(all[r], 1, 21, ExchangeState::started, "all_to_all_single");
    all[r].calls.back().in = fmt::format("[{}]", r);
  }
  EXPECT_EQ(find_hang(all)->kind, HangKind::stuck);
}

TEST(Hang, ATransferThatDoesNotEnd) {
  auto all = job(20);
  for (const std::uint32_t r : {1U, 3U, 5U, 7U}) call(all[r], 1, 21, ExchangeState::started);
  auto h = find_hang(all);
  ASSERT_TRUE(h);
  EXPECT_EQ(h->kind, HangKind::stuck);
  EXPECT_EQ(h->culprits.size(), 4U);
  EXPECT_FALSE(h->certain);
  all[5].calls.back().state = ExchangeState::scheduled;
  h = find_hang(all);
  EXPECT_EQ(h->culprits, std::vector<std::uint32_t>{5}) << "there it never began";
}

// Second by second, rank 5 so much later than the others.
std::vector<FlightRecord> timed(std::int64_t late_ns) {
  auto all = job(20);
  for (FlightRecord& f : all) {
    for (ExchangeCall& c : f.calls)
      c.created_ns = 1'000'000'000'000 + static_cast<std::int64_t>(c.seq) * 1'000'000'000 + (f.rank == 5 ? late_ns : 0);
  }
  return all;
}

TEST(Hang, ARankThatComesLateEveryTime) {
  const auto h = find_hang(timed(300'000'000));
  ASSERT_TRUE(h);
  EXPECT_EQ(h->kind, HangKind::late);
  EXPECT_EQ(h->culprits, std::vector<std::uint32_t>{5});
  EXPECT_NE(h->evidence.front().find("20 of 20"), std::string::npos) << h->evidence.front();
  EXPECT_FALSE(find_hang(timed(5'000'000))) << "clocks differ by as much";
  auto once = timed(0);
  once[5].calls.back().created_ns += 300'000'000;
  EXPECT_FALSE(find_hang(once)) << "once is nothing";
}

TEST(Hang, ARankThatCameWhenTheOthersHadGivenUp) {
  auto all = timed(0);
  for (const std::uint32_t r : {1U, 3U, 5U, 7U}) {
    call(all[r], 1, 21, ExchangeState::started);
    all[r].calls.back().created_ns = 1'021'000'000'000 + (r == 3 ? 600'000'000'000 : 0);
  }
  const auto h = find_hang(all);
  ASSERT_TRUE(h);
  EXPECT_EQ(h->kind, HangKind::late);
  EXPECT_EQ(h->culprits, std::vector<std::uint32_t>{3});
}

}  // namespace
}  // namespace muster::diagnose
