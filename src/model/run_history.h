// Run times of jobs that have ended, as histograms with logarithmic buckets: plain values that the state keeps and folds.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "model/fields.h"

namespace muster {

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
constexpr std::size_t kHistoriesMax = 1024;  // names remembered: a site with more is served by its users' histories

// "train-llama-7b-003" and "train-llama-7b-004" are runs of one thing: digits at the end and separators before them are cut.
std::string_view name_stem(std::string_view job_name);

// Keys are "user\nstem", "user", and "" for all.
struct Histories {
  std::map<std::string, RunHistory, std::less<>> of;

  void add(std::string_view user, std::string_view job_name, Duration run);
};

template <class V>
void fields(V& v, RunHistory& h) {
  v("counts", h.counts);
  v("total", h.total);
}
template <class V>
void fields(V& v, Histories& h) {
  v("of", h.of);
}

}  // namespace muster
