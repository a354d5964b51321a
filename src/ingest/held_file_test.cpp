// Tables of who held which GPUs, tokens, and records of accounting.
#include "ingest/held_file.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(HeldFile, ARunOnSeveralNodesIsSpreadOverThem) {
  const auto all = parse_held(
      "job,node,gpus,start,end,gpu_type,tokens\n42,gpu[001-002],15,2026-11-01T00:00Z,2026-11-01T12:00Z,H200,1e9\n", "j.csv", {});
  ASSERT_TRUE(all.has_value()) << all.error().what;
  const GpuHold& h = all->front();
  ASSERT_EQ(h.places.size(), 2u);
  EXPECT_EQ(h.gpus_milli(), 15'000);
  EXPECT_EQ(h.places[0].gpus_milli, 7'500);
  EXPECT_EQ(h.gpu_type, "h200");
  EXPECT_DOUBLE_EQ(*h.tokens, 1e9);
}

TEST(HeldFile, WhichGpusMayBeSaid) {
  const auto all = parse_held(
      "job,node,gpu_index,gpu_uuid,start,end\n1,n1,\"0-2,5\",,1793491200,1793494800\n2,n1,,GPU-aaaa;GPU-bbbb,1793491200,"
      "1793494800\n",
      "j.csv", {});
  ASSERT_TRUE(all.has_value()) << all.error().what;
  EXPECT_EQ((*all)[0].places[0].gpus, (std::vector<std::string>{"0", "1", "2", "5"}));
  EXPECT_EQ((*all)[0].gpus_milli(), 4'000);
  EXPECT_EQ((*all)[1].places[0].gpus, (std::vector<std::string>{"GPU-aaaa", "GPU-bbbb"}));
}

TEST(HeldFile, WhatIsWrongIsNamedWithItsLine) {
  const std::string head = "job,node,gpus,start,end\n";
  const std::pair<const char*, const char*> cases[] = {
      {"1,n1,8,2026-11-01T12:00Z,2026-11-01T00:00Z\n", "j.csv:2: it ends before it begins"},
      {"1,n1,8,soon,2026-11-01T00:00Z\n", "j.csv:2: start is no time"},
      {"1,n[1,8,2026-11-01T00:00Z,2026-11-01T01:00Z\n", "j.csv:2: node is no list"},
      {"1,n1,many,2026-11-01T00:00Z,2026-11-01T01:00Z\n", "j.csv:2: gpus is no number"},
      {"1,n1,0,2026-11-01T00:00Z,2026-11-01T01:00Z\n", "j.csv:2: gpus must be above 0"},
      {"1,n1,,2026-11-01T00:00Z,2026-11-01T01:00Z\n", "j.csv:2: gpus is missing"},
      {",n1,8,2026-11-01T00:00Z,2026-11-01T01:00Z\n", "j.csv:2: job is empty"}};
  for (const auto& [row, why] : cases) {
    const auto r = parse_held(head + row, "j.csv", {});
    ASSERT_FALSE(r.has_value()) << row;
    EXPECT_NE(r.error().what.find(why), std::string::npos) << r.error().what;
  }
  EXPECT_FALSE(parse_held("job,node\n1,n1\n", "j.csv", {}).has_value());
}

TEST(HeldFile, TokensOfAJobAddUp) {
  const auto t = parse_tokens_file("job,tokens\n1,5e9\n1,1e9\n2,7\n", "t.csv");
  ASSERT_TRUE(t.has_value());
  EXPECT_DOUBLE_EQ(t->at("1"), 6e9);
  EXPECT_FALSE(parse_tokens_file("job,tokens\n1,-5\n", "t.csv").has_value());
}

TEST(HeldFile, ARecordOfAccountingBecomesARun) {
  JobRecord r;
  r.id.text = "7";
  r.gpus_milli = 16'000;
  r.node_list = "n[1-2]";
  r.started = Time{1'793'491'200'000'000'000};
  r.state = RecordState::running;
  const Time now = r.started + hours(3);
  EXPECT_EQ(hold_of(r, now).ended, now);
  EXPECT_EQ(hold_of(r, now).places.size(), 2u);
  EXPECT_EQ(hold_of(r, now).places[1].gpus_milli, 8'000);
  r.gpus_requested = true;
  EXPECT_TRUE(hold_of(r, now).places.empty());
  r.gpus_requested = false;
  r.state = RecordState::cancelled;  // ended, nobody knows when
  EXPECT_TRUE(hold_of(r, now).places.empty());
}

TEST(HeldFile, AJobWithoutItsTokensIsNoError) {
  const auto t = parse_tokens_file("job,tokens\n1,5e9\n2,\n", "t.csv");
  ASSERT_TRUE(t.has_value()) << t.error().what;
  EXPECT_EQ(t->size(), 1u);
}

TEST(HeldFile, ARunningRecordLastsAsLongAsItSays) {
  JobRecord r;
  r.id.text = "7";
  r.gpus_milli = 8'000;
  r.node_list = "n1";
  r.state = RecordState::running;
  r.started = Time{} + hours(100);
  r.ran = minutes(30);
  EXPECT_EQ(hold_of(r, Time{} + hours(1000)).ended, r.started + minutes(30));
  r.ran = {};
  EXPECT_EQ(hold_of(r, Time{} + hours(1000)).ended, Time{} + hours(1000));
}

TEST(HeldFile, TooManyGpusAreCalledTooMany) {
  const auto r = parse_held("job,node,gpus,start,end\n1,n1,1e9,2026-11-01T00:00Z,2026-11-01T01:00Z\n", "j.csv", {});
  ASSERT_FALSE(r.has_value());
  EXPECT_EQ(r.error().what, "j.csv:2: gpus must be above 0 and at most 1,048,576");
}

}  // namespace
}  // namespace muster
