// Estimates of run time: from what the user said and from what jobs like it did. History is a histogram with logarithmic buckets,
// a plain value that a state can keep and fold.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace muster::decide {

// Run times in buckets of a quarter of a doubling, from 1 s to about 2 years. Old runs fade: at kHistoryFull all counts are
// halved.
struct RunHistory {
  static constexpr std::size_t kBuckets = 104;
  std::array<std::uint32_t, kBuckets> counts{};
  std::uint64_t total = 0;

  void add(Duration run);
  // Upper edge of the bucket in which the q-quantile lies, 0 < q <= 1. Requires total > 0.
  Duration quantile(double q) const;
  // Mean remaining time of a job that has run for `ran`, among those that ran longer; nothing when fewer than `least` did.
  std::optional<Duration> remaining(Duration ran, std::uint64_t least = 5) const;
};
constexpr std::uint64_t kHistoryFull = 4096;

// "train-llama-7b-003" and "train-llama-7b-004" are runs of one thing: digits at the end and separators before them are cut.
std::string_view name_stem(std::string_view job_name);

// Keys are "user\nstem", "user", and "" for all.
struct Histories {
  std::map<std::string, RunHistory, std::less<>> of;

  void add(std::string_view user, std::string_view job_name, Duration run);
};

enum class EstimateFrom : std::uint8_t { name, user, all, limit, nothing };

struct Estimate {
  Duration run;
  EstimateFrom from = EstimateFrom::nothing;
  std::uint64_t runs = 0;  // that it rests on
};

struct EstimatePolicy {
  double quantile = 0.5;
  std::uint64_t runs_min = 5;    // a history with fewer is passed over for a wider one
  Duration unknown = hours(24);  // no limit, no history
};

// The narrowest history that has enough runs; never more than `limit` (zero: none was given). With no history: the limit.
Estimate estimate_run(const Histories& h, std::string_view user, std::string_view job_name, Duration limit,
                      const EstimatePolicy& policy = {});

// When a running job is expected to end. Within its estimate: at started + estimate. Beyond it: the estimate has been doubled
// until it lies ahead, which is what the remaining time of a heavy-tailed run looks like (about as long as it ran already).
Time expected_end(Time started, Duration estimate, Time now);

}  // namespace muster::decide
