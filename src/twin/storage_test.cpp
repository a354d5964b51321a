#include "twin/storage.h"

#include <gtest/gtest.h>

namespace muster::twin {
namespace {

Time at(double s) { return Time{0} + from_seconds(s); }
double seconds_of(const std::optional<Store::Finish>& f) { return f ? (f->at - Time{0}).seconds() : -1; }

TEST(Store, OneWriterGetsWhatItsLinksCarry) {
  Store s(100, 8);
  s.begin(at(0), 1, 2, 160);  // 16 GB/s
  EXPECT_NEAR(seconds_of(s.next(at(0))), 10, 1e-6);
}

TEST(Store, WritersShareTheBandwidthByNode) {
  Store s(12, 8);
  s.begin(at(0), 1, 1, 80);
  EXPECT_NEAR(seconds_of(s.next(at(0))), 10, 1e-6);  // alone: 8 GB/s
  s.begin(at(5), 2, 2, 40);                          // three nodes: 4 GB/s each
  const auto f = s.next(at(5));
  EXPECT_EQ(f->writer, 2U);
  EXPECT_NEAR(seconds_of(f), 10, 1e-6);
  s.end(at(10), 2);
  // 40 written in the first 5 s, 20 in the next 5, the last 20 alone again.
  EXPECT_NEAR(seconds_of(s.next(at(10))), 12.5, 1e-6);
}

TEST(Store, AStallStretchesEverybodyAndPasses) {
  Store s(10, 8);
  s.begin(at(0), 1, 2, 100);
  s.set_factor(at(0), 0.05);
  EXPECT_NEAR(seconds_of(s.next(at(0))), 200, 1e-6);
  s.set_factor(at(100), 1);
  EXPECT_NEAR(seconds_of(s.next(at(100))), 105, 1e-6);
}

TEST(Store, AnAbandonedWriteLeavesItsShare) {
  Store s(8, 8);
  s.begin(at(0), 1, 1, 40);
  s.begin(at(0), 2, 1, 80);
  s.end(at(4), 1);  // 16 of 80 written
  EXPECT_EQ(s.writers(), 1U);
  EXPECT_NEAR(seconds_of(s.next(at(4))), 12, 1e-6);
  s.end(at(5), 1);  // not writing: nothing happens
  s.end(at(5), 7);
  EXPECT_NEAR(seconds_of(s.next(at(5))), 12, 1e-6);
  s.end(at(12), 2);
  EXPECT_FALSE(s.next(at(12)));
}

TEST(Store, WithoutALimitOnlyTheLinksCount) {
  Store s(0, 8);
  for (std::uint32_t w = 0; w < 100; ++w) s.begin(at(0), w, 1, 8);
  EXPECT_NEAR(seconds_of(s.next(at(0))), 1, 1e-6);
}

}  // namespace
}  // namespace muster::twin
