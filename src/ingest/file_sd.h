// Prometheus' file of targets (file_sd, JSON): [{"targets": ["node0001:9400"], "labels": {"node": "node0001"}}, ...]
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster {

constexpr std::size_t kTargetsMax = 200'000;

struct ScrapeTarget {
  std::string url;       // "http://node0001:9400/metrics"
  std::string address;   // "node0001:9400", as written
  std::string node;      // label `node`; empty: not said
  std::string instance;  // label `instance`; likewise
  bool operator==(const ScrapeTarget&) const = default;
};

// The labels __scheme__ and __metrics_path__ change the address, as in Prometheus; other labels are not used. A target that
// stands there twice is one. `file` is for error messages.
Result<std::vector<ScrapeTarget>> parse_file_sd(std::string_view text, std::string_view file);

}  // namespace muster
