// What a handful of seeds can say: means with intervals, whether paired series differ, and how many seeds it would take to see
// more. Uses the logarithm and exponential of base, so that the same runs give the same verdict on every machine.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace muster::trial {

// P(T <= t) of Student's t distribution, df >= 1, exact to about 1e-12; and its inverse, 0 < p < 1.
double student_cdf(double t, std::uint64_t df);
double student_quantile(double p, std::uint64_t df);

// A mean with the interval that holds the true one with `level` probability, if the mean of n is about normal.
struct Estimate {
  std::size_t n = 0;
  double mean = 0;
  double sd = 0;   // of one value
  double low = 0;  // with fewer than two values there is no interval: low = high = mean
  double high = 0;
};
Estimate estimate(std::span<const double> values, double level = 0.95);

// Two-sided p of a mean of zero, by Student's t. 1 where all are zero or there are fewer than two.
double student_p(const Estimate& e);

// The bounds of a Poisson mean of which `count` were seen: with this confidence each, one-sided, it is not above high and not
// below low. For counts up to a few hundred; exact to about 1e-9.
double poisson_high(std::uint64_t count, double confidence = 0.95);
double poisson_low(std::uint64_t count, double confidence = 0.95);

// How far several series of paired differences are from zero, tested together. What chance alone would do is tried out: each pair
// has its signs, in all series at once, by the toss of a coin, and it is counted how often a series comes as far from zero as it
// did. That needs no normality, only that the two halves of a pair could have been the other way round. `adjusted` is for who
// looks at all of them: how often any series not farther than this one would have come so far (Westfall and Young, step-down
// maxT), so that a false claim among all comes in at most p of the cases; series that move together count as one, which Holm's or
// Bonferroni's correction cannot know. The least p there is with n pairs is 2 / 2^n, however many series there are.
//   All tosses are tried where at most kExactFlips pairs have a difference, else kFlips, drawn from a stream of its own.
constexpr std::size_t kExactFlips = 18;
constexpr std::uint64_t kFlips = 100'000;
struct FlipTests {
  std::vector<double> p;         // each series by itself
  std::vector<double> adjusted;  // never below p
  bool exact = true;
};
// Series of equal length; 0 where a pair has no value.
FlipTests sign_flips(const std::vector<std::vector<double>>& series);

// How many pairs show a true difference of `delta` with this power in a two-sided test at `alpha`, where the differences have
// this standard deviation. kPairsMax: so many or more.
constexpr std::uint64_t kPairsMax = 1'000'000;
std::uint64_t pairs_needed(double sd, double delta, double alpha, double power = 0.8);
// The fewest that can reach `alpha` by sign flips at all.
std::uint64_t pairs_least(double alpha);

}  // namespace muster::trial
