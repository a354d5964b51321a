#include "diagnose/caching_allocator.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/prng.h"

namespace muster::diagnose {
namespace {

constexpr std::uint64_t kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;

TEST(CachingAllocator, Rounding) {
  AllocatorSettings s;
  EXPECT_EQ(rounded_request(0, s), 512U);
  EXPECT_EQ(rounded_request(513, s), 1024U);
  EXPECT_EQ(segment_for(kMiB), 2 * kMiB);
  EXPECT_EQ(segment_for(kMiB + 512), 20 * kMiB);
  EXPECT_EQ(segment_for(10 * kMiB), 10 * kMiB);
  EXPECT_EQ(segment_for(11 * kMiB + 512), 12 * kMiB);
  s.divisions.fill(4);
  EXPECT_EQ(rounded_request(1200 * kMiB, s), 1280 * kMiB) << "1024 MiB and a quarter of it";
  EXPECT_EQ(rounded_request(1024 * kMiB, s), 1024 * kMiB);
  EXPECT_EQ(rounded_request(1025 * kMiB, s), 1280 * kMiB);
}

TEST(CachingAllocator, SplitsJoinsAndTakesTheSmallestThatFits) {
  CachingAllocator a({}, {kGiB, false});
  const auto one = a.allocate(4 * kMiB, 0, 0), two = a.allocate(4 * kMiB, 0, 0);
  ASSERT_TRUE(one && two);
  EXPECT_EQ(a.reserved(), 20 * kMiB) << "both from one segment";
  const auto big = a.allocate(30 * kMiB, 0, 0);
  a.free(*big);
  ASSERT_TRUE(a.allocate(12 * kMiB, 0, 0));
  EXPECT_EQ(a.reserved(), 50 * kMiB) << "what is left of 20 MiB fits better than 30 MiB";
  EXPECT_EQ(a.allocated(), 20 * kMiB);
  ASSERT_TRUE(a.allocate(12 * kMiB, 0, 0));
  EXPECT_EQ(a.reserved(), 50 * kMiB);
  ASSERT_TRUE(a.allocate(12 * kMiB, 9, 0));
  EXPECT_EQ(a.reserved(), 62 * kMiB) << "another stream gets its own";
  ASSERT_TRUE(a.allocate(100, 0, 0));
  EXPECT_EQ(a.reserved(), 64 * kMiB) << "so do small requests";
}

TEST(CachingAllocator, WholeSegmentsGoBackWhenTheDeviceHasNoMore) {
  CachingAllocator a({}, {100 * kMiB, false});
  const auto x = a.allocate(60 * kMiB, 0, 0);
  a.free(*x);
  EXPECT_EQ(a.reserved(), 60 * kMiB);
  EXPECT_TRUE(a.allocate(80 * kMiB, 0, 0));
  EXPECT_EQ(a.reserved(), 80 * kMiB);
  EXPECT_EQ(a.device_frees(), 1U);
  EXPECT_FALSE(a.allocate(40 * kMiB, 0, 0));
  EXPECT_TRUE(a.allocate(40 * kMiB, 0, 0, true)) << "forced";
}

// Each request larger than those before, and something kept of each.
std::uint64_t served(const AllocatorSettings& s) {
  CachingAllocator a(s, {kGiB, false});
  std::uint64_t count = 0;
  for (std::uint64_t n = 64 * kMiB; n < 400 * kMiB; n += 16 * kMiB, ++count) {
    const auto wide = a.allocate(n, 0, 0);
    if (!wide) break;
    a.free(*wide);
    const auto narrow = a.allocate(n - 8 * kMiB, 0, 0);
    if (!narrow || !a.allocate(6 * kMiB, 0, 0)) break;
    a.free(*narrow);
  }
  return count;
}

TEST(CachingAllocator, ExpandableSegmentsDoNotFragment) {
  AllocatorSettings s;
  EXPECT_LT(served(s), 10U);
  s.expandable = true;
  EXPECT_EQ(served(s), 21U);
}

TEST(CachingAllocator, PagesComeAndGo) {
  AllocatorSettings s;
  s.expandable = true;
  CachingAllocator a(s, {100 * kMiB, false});
  const auto x = a.allocate(30 * kMiB, 0, 0);
  EXPECT_EQ(a.reserved(), 40 * kMiB) << "in pages of 20 MiB";
  const auto y = a.allocate(45 * kMiB, 0, 0);
  EXPECT_EQ(a.reserved(), 80 * kMiB);
  a.free(*x);
  ASSERT_TRUE(a.allocate(kMiB / 2, 0, 0));
  EXPECT_EQ(a.reserved(), 82 * kMiB) << "small ones have pages of 2 MiB";
  EXPECT_FALSE(a.allocate(50 * kMiB, 0, 0));
  a.free(*y);
  EXPECT_TRUE(a.allocate(70 * kMiB, 0, 0));
  EXPECT_EQ(a.reserved(), 82 * kMiB);
}

TEST(CachingAllocator, OversizeBlocksAreNotSplit) {
  AllocatorSettings s;
  s.max_split = 64 * kMiB;
  CachingAllocator a(s, {kGiB, false});
  const auto x = a.allocate(100 * kMiB, 0, 0);
  a.free(*x);
  ASSERT_TRUE(a.allocate(30 * kMiB, 0, 0));
  EXPECT_EQ(a.reserved(), 130 * kMiB);
  ASSERT_TRUE(a.allocate(90 * kMiB, 0, 0)) << "within 20 MiB of it";
  EXPECT_EQ(a.reserved(), 130 * kMiB);
}

TEST(CachingAllocator, SumsHoldWhateverComes) {
  for (const bool expandable : {false, true}) {
    for (const std::uint64_t limit : {200 * kMiB, 2 * kGiB}) {
      AllocatorSettings s;
      s.expandable = expandable;
      CachingAllocator a(s, {limit, false});
      Prng rng(7, "requests");
      std::vector<std::pair<CachingAllocator::Id, std::uint64_t>> live;
      std::uint64_t sum = 0;
      for (int i = 0; i < 20'000; ++i) {
        if (!live.empty() && rng.next() % 2 == 0) {
          const std::size_t at = rng.next() % live.size();
          sum -= live[at].second;
          a.free(live[at].first);
          live[at] = live.back();
          live.pop_back();
        } else {
          const std::uint64_t size = rounded_request(std::uint64_t{1} << (rng.next() % 26), s);
          const auto id = a.allocate(size, rng.next() % 3, 0);
          if (!id) continue;
          live.emplace_back(*id, size);
          sum += size;
        }
        ASSERT_LE(a.reserved(), limit);
        ASSERT_GE(a.allocated(), sum);
        ASSERT_LE(a.allocated(), a.reserved());
      }
      for (const auto& [id, size] : live) a.free(id);
      EXPECT_EQ(a.allocated(), 0U);
    }
  }
}

TEST(CachingAllocator, WhatWasThereIsPlaced) {
  CachingAllocator a({}, {kGiB, false});
  const auto ids = a.place({0, 0, false}, {100 * kMiB, 40 * kMiB}, {{100 * kMiB, 2 * kMiB}, {120 * kMiB, 4 * kMiB}, {1, 2}});
  ASSERT_EQ(ids.size(), 3U);
  EXPECT_EQ(a.reserved(), 40 * kMiB);
  EXPECT_EQ(a.allocated(), 6 * kMiB) << "what lies elsewhere is left out";
  ASSERT_TRUE(a.allocate(17 * kMiB, 0, 0)) << "between them";
  EXPECT_EQ(a.reserved(), 40 * kMiB);
  a.free(ids[0]);
  a.free(ids[2]);
}

}  // namespace
}  // namespace muster::diagnose
