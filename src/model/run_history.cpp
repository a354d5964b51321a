#include "model/run_history.h"

#include <algorithm>

#include "base/math.h"

namespace muster {
namespace {

constexpr double kPerDoubling = 4;

// Seconds at the upper edge of a bucket: 2^((b + 1) / 4).
double edge_s(std::size_t bucket) {
  static const auto edges = [] {
    std::array<double, RunHistory::kBuckets> out{};
    for (std::size_t b = 0; b < out.size(); ++b)
      out[b] = det_exp(0.69314718055994530942 * static_cast<double>(b + 1) / kPerDoubling);
    return out;
  }();
  return edges[bucket];
}

// By comparison with the edges, which are the same bits on every machine.
std::size_t bucket_of(Duration run) {
  const double s = run.seconds();
  std::size_t low = 0;
  std::size_t high = RunHistory::kBuckets - 1;
  while (low < high) {
    const std::size_t mid = (low + high) / 2;
    if (edge_s(mid) >= s)
      high = mid;
    else
      low = mid + 1;
  }
  return low;
}

}  // namespace

void RunHistory::add(Duration run) {
  if (total >= kHistoryFull) {
    total = 0;
    for (std::uint32_t& c : counts) total += c /= 2;
  }
  ++counts[bucket_of(run)];
  ++total;
}

Duration RunHistory::quantile(double q) const {
  const double wanted = q * static_cast<double>(total);
  std::uint64_t seen = 0;
  for (std::size_t b = 0; b < kBuckets; ++b) {
    seen += counts[b];
    if (counts[b] > 0 && static_cast<double>(seen) >= wanted) return from_seconds(edge_s(b));
  }
  return from_seconds(edge_s(kBuckets - 1));
}

std::optional<Duration> RunHistory::remaining(Duration ran, std::uint64_t least) const {
  const double s = ran.seconds();
  double sum = 0;
  std::uint64_t longer = 0;
  for (std::size_t b = 0; b < kBuckets; ++b) {
    const double edge = edge_s(b);
    if (edge <= s || counts[b] == 0) continue;
    longer += counts[b];
    sum += static_cast<double>(counts[b]) * (edge - s);
  }
  if (longer < least) return std::nullopt;
  return from_seconds(sum / static_cast<double>(longer));
}

std::string_view name_stem(std::string_view job_name) {
  std::size_t end = job_name.size();
  while (end > 0 && job_name[end - 1] >= '0' && job_name[end - 1] <= '9') --end;
  if (end == job_name.size()) return job_name;
  while (end > 0 &&
         (job_name[end - 1] == '-' || job_name[end - 1] == '_' || job_name[end - 1] == '.' || job_name[end - 1] == ' '))
    --end;
  return end == 0 ? job_name : job_name.substr(0, end);
}

void Histories::add(std::string_view user, std::string_view job_name, Duration run) {
  const std::string key = std::string(user) + "\n" + std::string(name_stem(job_name));
  for (const std::string& k : {key, std::string(user), std::string()}) {
    auto it = of.find(k);
    if (it == of.end()) {
      if (of.size() >= kHistoriesMax && !k.empty()) continue;
      it = of.emplace(k, RunHistory{}).first;
    }
    it->second.add(run);
  }
}

}  // namespace muster
