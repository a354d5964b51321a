#include "report/tuner_table.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace muster::report {
namespace {

constexpr TunerChoice kTree{.algorithm = 0, .protocol = 0, .channels = 2, .chunk_bytes = 0};
constexpr TunerChoice kRing{.algorithm = 1, .protocol = 2, .channels = 8, .chunk_bytes = 1 << 17};

TunerKnot knot(std::uint64_t bytes, TunerChoice choice, double default_us, double chosen_us) {
  return {.bytes = bytes,
          .choice = choice,
          .default_us = default_us,
          .chosen_us = chosen_us,
          .previous_us = 0,
          .next_us = 0,
          .gain = default_us / chosen_us - 1,
          .noise = 0.01};
}

TunerTable sample() {
  TunerTable t;
  t.nccl_version = 22809;
  const std::vector<TunerKnot> knots = {knot(1024, kTree, 100, 50), knot(4096, kTree, 110, 60), knot(1 << 20, kRing, 900, 600)};
  TunerKey key;
  for (const std::uint32_t nodes : {8U, 2U, 4U}) {
    key.nodes = nodes;
    t.entries.push_back({key, tuner_spans(knots)});
  }
  return t;
}

// The choice at a size, of spans alone.
TunerChoice at(const std::vector<TunerSpan>& spans, std::uint64_t bytes) {
  TunerChoice found;
  for (const TunerSpan& s : spans) {
    if (s.from_bytes <= bytes) found = s.choice;
  }
  return found;
}

TEST(TunerTable, NamesAreReadAsNcclAndItsToolsWriteThem) {
  EXPECT_EQ(tuner_collective("AllReduce"), 4);
  EXPECT_EQ(tuner_collective("all_reduce"), 4);
  EXPECT_EQ(tuner_collective("reduce-scatter"), 3);
  EXPECT_EQ(tuner_algorithm("RING"), 1);
  EXPECT_EQ(tuner_algorithm("NVLS_TREE"), 5);
  EXPECT_EQ(tuner_algorithm("CollNetDirect"), 2);
  EXPECT_EQ(tuner_protocol("Simple"), 2);
  EXPECT_EQ(tuner_protocol("ll128"), 1);
  EXPECT_FALSE(tuner_algorithm("Star"));
  for (int a = 0; a < 7; ++a) EXPECT_EQ(tuner_algorithm(tuner_algorithm_name(a)), a);
  EXPECT_EQ(tuner_algorithm_name(-1), "NCCL's own");
  EXPECT_EQ(tuner_collective_name(9), "?");
}

TEST(TunerTable, NeighboursThatAgreeHoldBetweenThemAndAHalfOctaveBeyond) {
  const std::vector<TunerKnot> knots = {knot(1024, kTree, 100, 50), knot(65536, kTree, 110, 60)};
  const auto spans = tuner_spans(knots);
  EXPECT_TRUE(at(spans, 724).own());
  EXPECT_EQ(at(spans, 725), kTree);
  EXPECT_EQ(at(spans, 8192), kTree);
  EXPECT_EQ(at(spans, 92681), kTree);
  EXPECT_TRUE(at(spans, 92682).own());
}

TEST(TunerTable, NeighboursThatDifferChangeWhereTheirTimesCross) {
  TunerKnot low = knot(1000, kTree, 100, 50), high = knot(100000, kRing, 900, 400);
  EXPECT_EQ(at(tuner_spans(std::vector{low, high}), 9999), kTree) << "nothing known between: up to the middle in log size";
  EXPECT_EQ(at(tuner_spans(std::vector{low, high}), 10001), kRing);
  // Trees are e times as fast at the low size, rings e to the third at the high one: a quarter of the way.
  low.next_us = 50 * 2.718281828;
  high.previous_us = 400 * 20.085536923;
  EXPECT_EQ(at(tuner_spans(std::vector{low, high}), 3160), kTree);
  EXPECT_EQ(at(tuner_spans(std::vector{low, high}), 3163), kRing);
  // Chosen against the times: they are not believed.
  high.previous_us = 300;
  EXPECT_EQ(at(tuner_spans(std::vector{low, high}), 9999), kTree);
}

TEST(TunerTable, BesideNcclsOwnChoiceTheDefaultsTimesAreKnownEverywhere) {
  TunerKnot low = knot(1000, kTree, 200, 100), high = knot(100000, {}, 900, 0);
  high.previous_us = 1800;  // the tree is twice as slow there: they cross in the middle
  EXPECT_EQ(at(tuner_spans(std::vector{low, high}), 9999), kTree);
  EXPECT_TRUE(at(tuner_spans(std::vector{low, high}), 10001).own());
  high.previous_us = 900;  // no slower even there
  EXPECT_EQ(at(tuner_spans(std::vector{low, high}), 99999), kTree);
  EXPECT_TRUE(at(tuner_spans(std::vector{low, high}), 100000).own());
  EXPECT_TRUE(tuner_spans({}).empty());
}

TEST(TunerTable, WhatIsWrittenIsReadBack) {
  const auto bytes = encode_tuner_table(sample());
  ASSERT_TRUE(bytes) << bytes.error().what;
  const auto back = decode_tuner_table(*bytes, "t.table");
  ASSERT_TRUE(back) << back.error().what;
  TunerTable sorted = sample();
  std::sort(sorted.entries.begin(), sorted.entries.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
  EXPECT_EQ(*back, sorted);
  EXPECT_EQ(encode_tuner_table(*back).value(), *bytes);
  EXPECT_EQ(tuner_table_hash(*bytes).size(), 16U);
  EXPECT_EQ(tuner_table_hash("short"), "");
}

TEST(TunerTable, TheBytesAreTheSameOnEveryMachine) {
  TunerTable t;
  t.entries = {
      {TunerKey{},
       {{.from_bytes = 1024, .choice = kRing, .gain_permille = 300, .noise_permille = 20, .default_ns = 5, .chosen_ns = 4}}}};
  const std::string bytes = encode_tuner_table(t).value();
  EXPECT_EQ(bytes.size(), 128U);
  EXPECT_EQ(bytes.substr(0, 16), std::string("MUSTUNE\n\x04\x03\x02\x01\x01\x00\x40\x00", 16));
  // The CRC-64 of xz, computed by another program over the other 120 bytes.
  EXPECT_EQ(tuner_table_hash(bytes), "ea6b91b956b2ed40");
}

TEST(TunerTable, WhatIsWrongIsSaid) {
  TunerTable t = sample();
  t.entries.push_back(t.entries.front());
  EXPECT_NE(encode_tuner_table(t).error().what.find("8 nodes of 1 ranks, NVLink domain 1 comes twice"), std::string::npos);
  t = sample();
  t.entries[0].spans[1].choice.protocol = 3;
  EXPECT_NE(encode_tuner_table(t).error().what.find("protocol 3 is not known"), std::string::npos);
  t = sample();
  t.entries[0].spans[1].from_bytes = 0;
  EXPECT_NE(encode_tuner_table(t).error().what.find("sizes do not ascend"), std::string::npos);
  t = sample();
  t.entries[0].key.nodes = 0;
  EXPECT_FALSE(encode_tuner_table(t));
  std::string bytes = encode_tuner_table(sample()).value();
  EXPECT_EQ(decode_tuner_table("hello", "a.table").error().what, "a.table: this is no tuner table");
  EXPECT_EQ(decode_tuner_table(bytes.substr(0, 90), "a.table").error().what, "a.table: 90 bytes of 544");
  bytes[100] = static_cast<char>(bytes[100] + 1);
  EXPECT_NE(decode_tuner_table(bytes, "a.table").error().what.find("damaged"), std::string::npos);
  EXPECT_EQ(decode_tuner_table(bytes, "a.table").error().code, Code::bad_input);
  bytes[12] = 9;
  EXPECT_EQ(decode_tuner_table(bytes, "a.table").error().what, "a.table: version 9, this program reads 1");
}

TEST(TunerTable, AChoiceNeedsAGainBeyondNoiseAndMargin) {
  TunerTable t = sample();
  const auto choice = [&](std::uint32_t nodes, std::uint64_t bytes) {
    TunerKey key;
    key.nodes = nodes;
    return tuner_choice(t, key, bytes);
  };
  EXPECT_EQ(choice(4, 4096), kTree);
  EXPECT_EQ(choice(3, 4096), kTree) << "2 and 4 nodes agree";
  EXPECT_TRUE(choice(9, 4096).own()) << "beyond what was measured";
  EXPECT_TRUE(choice(1, 4096).own()) << "one node is another world";
  TunerEntry& eight = t.entries.front();
  for (TunerSpan& s : eight.spans) s.noise_permille = s.gain_permille;
  EXPECT_TRUE(choice(8, 4096).own());
  EXPECT_TRUE(choice(6, 4096).own()) << "4 and 8 nodes differ";
  for (TunerSpan& s : eight.spans) s.noise_permille = 0;
  EXPECT_EQ(choice(8, 4096), kTree);
  t.margin_permille = 2000;
  EXPECT_TRUE(choice(4, 4096).own());
}

}  // namespace
}  // namespace muster::report
