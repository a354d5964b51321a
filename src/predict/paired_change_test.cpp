#include "predict/paired_change.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/prng.h"

namespace muster {
namespace {

std::vector<double> scores(Prng& prng, std::size_t n, double level) {
  std::vector<double> out;
  for (std::size_t i = 0; i < n; ++i) out.push_back(level * (1 + 0.005 * prng.normal()));
  return out;
}

TEST(paired_change, a_canary_that_got_slower_than_its_kind_is_worse) {
  Prng prng(1, "test");
  const auto before = scores(prng, 4, 400), after = scores(prng, 4, 380);
  const auto ob = scores(prng, 60, 400), oa = scores(prng, 60, 400);
  const PairedChange c = paired_change(before, after, ob, oa, 0.01, 0.003);
  EXPECT_EQ(c.pairs, 4u);
  EXPECT_NEAR(c.change, -0.05, 0.01);
  EXPECT_TRUE(c.worse);
}

TEST(paired_change, what_slows_everybody_is_not_the_changes_doing) {
  Prng prng(2, "test");
  const auto before = scores(prng, 4, 400), after = scores(prng, 4, 380);
  const auto ob = scores(prng, 60, 400), oa = scores(prng, 60, 380);
  EXPECT_FALSE(paired_change(before, after, ob, oa, 0.01, 0.003).worse);
}

TEST(paired_change, noise_is_called_worse_no_more_often_than_alpha) {
  Prng prng(3, "test");
  int worse = 0;
  for (int k = 0; k < 400; ++k) {
    const auto before = scores(prng, 3, 400), after = scores(prng, 3, 400);
    const auto ob = scores(prng, 20, 400), oa = scores(prng, 20, 400);
    worse += paired_change(before, after, ob, oa, 0.05, 0).worse;
  }
  EXPECT_LE(worse, 34);  // 20 on the mean, three deviations more
}

TEST(paired_change, without_others_signs_decide_and_too_few_pairs_never_do) {
  Prng prng(4, "test");
  const auto before = scores(prng, 8, 400), after = scores(prng, 8, 380);
  EXPECT_TRUE(paired_change(before, after, {}, {}, 0.01, 0.003).worse);
  EXPECT_FALSE(paired_change(std::span(before).first(2), std::span(after).first(2), {}, {}, 0.01, 0.003).worse);
}

TEST(paired_change, what_was_not_measured_is_no_pair) {
  const std::vector<double> before = {400, 0, std::nan(""), 400}, after = {300, 300, 300, -1};
  EXPECT_EQ(paired_change(before, after, {}, {}, 0.01, 0).pairs, 1u);
  EXPECT_EQ(paired_change({}, {}, {}, {}, 0.01, 0).pairs, 0u);
}

}  // namespace
}  // namespace muster
