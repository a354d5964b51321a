#include <gtest/gtest.h>

#include <algorithm>

#include "diagnose/nccl_bandwidth.h"

namespace muster::diagnose {
namespace {

// Nothing is known of any GPU: ranks are held against each other only.
std::vector<JudgedSeries> judge(const InspectorLog& log) {
  const std::vector<GpuModel> gpus;
  const predict::Collectives collectives{{}, {}, gpus, {}};
  return judge_inspector(log, {collectives, gpus, {}, {}});
}

double noise(std::uint32_t rank, std::size_t i) { return 1 + 0.01 * static_cast<double>((i * 7 + rank * 3) % 5); }

// `us(rank, seq)`: its time in it. Ranks are of `comm`, `per_node` on each node.
template <class Time>
InspectorSeries series(const std::string& comm, std::uint32_t ranks, std::uint32_t per_node, const Time& us) {
  InspectorSeries s;
  s.comm = comm;
  s.ranks = ranks;
  s.nodes = ranks / per_node;
  s.op = "AllReduce";
  s.collective = Collective::all_reduce;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    InspectorTrack t{r, "n" + std::to_string(r / per_node), {}};
    for (std::size_t i = 0; i < 200; ++i) t.samples.push_back({i, 1e8, us(r, i) * noise(r, i), 0});
    s.tracks.push_back(std::move(t));
  }
  return s;
}

template <class Time>
InspectorLog log_of(std::uint32_t ranks, std::uint32_t per_node, const Time& us) {
  InspectorLog log;
  log.series = {series("0x1", ranks, per_node, us)};
  return log;
}

// Sends of each rank in `from` to all others of eight on one node.
template <class Time>
InspectorLog sends(std::uint32_t from, const Time& us) {
  InspectorLog log;
  InspectorSeries s;
  s.comm = "0x1";
  s.ranks = 8;
  s.nodes = 1;
  s.op = "Send";
  s.collective = Collective::send_recv;
  for (std::uint32_t r = 0; r < from; ++r) {
    InspectorTrack t{r, "n0", {}};
    for (std::size_t i = 0; i < 50; ++i) {
      for (std::uint32_t peer = 0; peer < 8; ++peer) {
        if (peer != r) t.samples.push_back({i, 1e8, us(r, peer, i) * noise(r + peer, i), 0, static_cast<std::int32_t>(peer)});
      }
    }
    s.tracks.push_back(std::move(t));
  }
  log.series = {s};
  return log;
}

TEST(NcclInspectorWho, ANodeIsNamedWhereHalfOfTheRanksAreLate) {
  const auto judged = judge(log_of(16, 8, [](std::uint32_t r, std::size_t i) { return i >= 100 && r < 8 ? 3400.0 : 1400.0; }));
  EXPECT_EQ(judged[0].odd_hosts, std::vector<std::string>{"n1"});
  EXPECT_EQ(judged[0].odd.size(), 8u);
  const auto found = find_in_inspector(judged);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].title, "the others wait for node n1 in all_reduce of communicator 0x1");
  EXPECT_NE(
      found[0].evidence[0].find("all 8 of its ranks seen are in it for 1.43 ms, those that wait for 3.4 ms, from number 100"),
      std::string::npos)
      << found[0].evidence[0];
}

TEST(NcclInspectorWho, OfTwoRanksTheOneThatIsInItTheShortestIsLate) {
  const auto judged = judge(log_of(2, 1, [](std::uint32_t r, std::size_t) { return r == 0 ? 3900.0 : 900.0; }));
  ASSERT_EQ(judged[0].odd.size(), 1u);
  EXPECT_TRUE(judged[0].odd[0].late);
  const auto found = find_in_inspector(judged);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].title, "the others wait for rank 1 on n1 in all_reduce of communicator 0x1");
}

TEST(NcclInspectorWho, TwoRanksThatTakeTurnsAreBothInLine) {
  const auto judged = judge(log_of(2, 1, [](std::uint32_t r, std::size_t i) { return (i + r) % 2 == 0 ? 920.0 : 900.0; }));
  EXPECT_TRUE(judged[0].odd.empty());
  EXPECT_TRUE(find_in_inspector(judged).empty());
}

TEST(NcclInspectorWho, ANodeOfFourWhoseRanksAreAllLateIsOneFinding) {
  const auto judged = judge(log_of(32, 8, [](std::uint32_t r, std::size_t) { return r / 8 == 2 ? 1400.0 : 3400.0; }));
  const auto found = find_in_inspector(judged);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].title, "the others wait for node n2 in all_reduce of communicator 0x1");
}

TEST(NcclInspectorWho, ManyRanksThatAreLateShareAFinding) {
  const auto judged = judge(log_of(16, 8, [](std::uint32_t r, std::size_t) { return r % 3 == 1 ? 1000.0 : 3000.0; }));
  const auto found = find_in_inspector(judged);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].title.find(" and 2 more in all_reduce of communicator 0x1"), std::string::npos) << found[0].title;
}

TEST(NcclInspectorWho, ANodeWhoseRankIsLateInEachOfManyGroupsIsNamedOnce) {
  InspectorLog log;
  for (int g = 0; g < 8; ++g)
    log.series.push_back(
        series("0xD" + std::to_string(g), 2, 1, [](std::uint32_t r, std::size_t) { return r == 0 ? 3900.0 : 900.0; }));
  auto found = find_in_inspector(judge(log));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].title, "the others wait for node n1 in all_reduce of 8 communicators of 2 ranks");
  // In one of the groups it is in time: then it is a rank, and not the node.
  log.series[3] = series("0xD3", 2, 1, [](std::uint32_t, std::size_t) { return 900.0; });
  found = find_in_inspector(judge(log));
  ASSERT_EQ(found.size(), 7u);
  EXPECT_EQ(found[0].title, "the others wait for rank 1 on n1 in all_reduce of communicator 0xD0");
}

TEST(NcclInspectorWaits, WaitingThatIsForNobodyInParticularIsTold) {
  const auto judged =
      judge(log_of(8, 8, [](std::uint32_t r, std::size_t i) { return (i * 2654435761u >> 7) % 8 == r ? 1100.0 : 3100.0; }));
  ASSERT_TRUE(judged[0].waiting);
  EXPECT_NEAR(judged[0].waiting->share, 1 - 1100 / 2850.0, 0.02);
  EXPECT_FALSE(judged[0].waiting->mostly_rank);
  EXPECT_TRUE(judged[0].odd.empty());
  const auto found = find_in_inspector(judged);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].title, "61 % of the time in all_reduce of communicator 0x1 is waiting, for no rank in particular");
}

TEST(NcclInspectorWaits, WaitingThatIsMostlyForOneIsToldOfIt) {
  const auto judged = judge(log_of(8, 8, [](std::uint32_t r, std::size_t i) {
    const std::uint32_t last = i % 5 < 3 ? 6 : static_cast<std::uint32_t>((i * 3) % 6);
    return r == last ? 1100.0 : 3100.0;
  }));
  EXPECT_EQ(judged[0].waiting->mostly_rank, 6u);
  const auto found = find_in_inspector(judged);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].title, "62 % of the time in all_reduce of communicator 0x1 is waiting, most of it for rank 6 on n0");
}

TEST(NcclInspectorWaits, WaitingThatBeganIsDated) {
  const auto judged = judge(
      log_of(8, 8, [](std::uint32_t r, std::size_t i) { return i < 120 || (i * 2654435761u >> 7) % 8 == r ? 1100.0 : 3100.0; }));
  EXPECT_EQ(judged[0].waiting->since, 120u);
  EXPECT_FALSE(judged[0].waiting->from_start);
}

TEST(NcclInspectorWaits, WhatLaunchesDifferByIsNoFinding) {
  const auto judged =
      judge(log_of(8, 8, [](std::uint32_t r, std::size_t i) { return (i * 2654435761u >> 7) % 8 == r ? 11.0 : 31.0; }));
  EXPECT_TRUE(find_in_inspector(judged).empty());
}

TEST(NcclInspectorPeers, APeerThatIsSlowerThanTheOthersOfARankIsNamed) {
  const auto judged = judge(sends(1, [](std::uint32_t, std::uint32_t peer, std::size_t) { return peer == 5 ? 4000.0 : 1000.0; }));
  EXPECT_EQ(judged[0].operations, 350u);
  ASSERT_EQ(judged[0].peers.size(), 1u);
  EXPECT_EQ(judged[0].peers[0].peer, 5u);
  EXPECT_NEAR(judged[0].peers[0].times, 4, 0.1);
  EXPECT_TRUE(judged[0].odd.empty());
  const auto found = find_in_inspector(judged);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].title, "rank 0 takes 4.0 times as long with rank 5 as with other peers in Send of communicator 0x1");
}

TEST(NcclInspectorPeers, APeerThatIsSlowForManyIsBlamedItself) {
  const auto judged = judge(sends(
      8, [](std::uint32_t r, std::uint32_t peer, std::size_t i) { return (peer == 5 || r == 5) && i >= 20 ? 4000.0 : 1000.0; }));
  ASSERT_EQ(judged[0].peers.size(), 1u);
  EXPECT_EQ(judged[0].peers[0].by.size(), 7u);
  EXPECT_EQ(judged[0].peers[0].since, 20u);
  ASSERT_EQ(judged[0].odd.size(), 1u);
  const auto found = find_in_inspector(judged);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].title, "rank 5 on n0 is slow for 7 of the 7 ranks that exchange with it in Send of communicator 0x1");
}

TEST(NcclInspectorPeers, PeersOfAnotherNodeAreHeldAgainstEachOther) {
  InspectorLog log = sends(1, [](std::uint32_t, std::uint32_t peer, std::size_t) { return peer >= 5 ? 4000.0 : 1000.0; });
  EXPECT_FALSE(judge(log)[0].peers.empty());
  log.series[0].ranks = 10;  // five on each node: over the network it takes longer
  log.series[0].nodes = 2;
  EXPECT_TRUE(judge(log)[0].peers.empty());
}

TEST(NcclInspectorPeers, LargeMessagesAreNotSlowPeers) {
  InspectorLog log = sends(1, [](std::uint32_t, std::uint32_t peer, std::size_t) { return peer == 5 ? 4000.0 : 1000.0; });
  for (InspectorSample& x : log.series[0].tracks[0].samples) {
    if (x.peer == 5) x.bytes = 4e8;
  }
  EXPECT_TRUE(judge(log)[0].peers.empty());
}

TEST(NcclInspectorLines, DamagedLinesAreCountedBesideWhatWasJudged) {
  InspectorLog log = log_of(2, 1, [](std::uint32_t, std::size_t) { return 900.0; });
  log.damaged = log.not_understood = 3;
  EXPECT_EQ(judge(log)[0].damaged_lines, 3u);
}

}  // namespace
}  // namespace muster::diagnose
