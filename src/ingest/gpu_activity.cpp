#include "ingest/gpu_activity.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "base/text.h"
#include "ingest/gres_text.h"
#include "ingest/prom_api.h"

namespace muster {
namespace {

constexpr std::int64_t kWhole = 1000;
constexpr std::size_t kMetricsMax = 64;
constexpr float kOneAndABit = 1.001F;  // all of the time, as averages come out

std::string_view first_label(const PromSeries& s, std::initializer_list<std::string_view> names) {
  for (const std::string_view n : names) {
    if (const auto v = s.label(n); !v.empty()) return v;
  }
  return {};
}

// "gpu001:9400" as "gpu001"; an address in brackets stays as it is.
std::string_view host_of(std::string_view instance) {
  const auto colon = instance.rfind(':');
  return colon == std::string_view::npos || instance.front() == '[' ? instance : instance.substr(0, colon);
}

bool sees_no_slices(std::string_view metric) { return metric.find("GPU_UTIL") != std::string_view::npos; }

}  // namespace

std::string activity_query(std::string_view metric, Duration step) {
  return fmt::format("avg_over_time({}[{}s])", metric, step.ns / 1'000'000'000);
}

Result<void> ActivityReader::take(std::string text, std::string_view metric) {
  for (const std::string_view m : kActivityMetrics) {
    if (metrics_.size() < std::size(kActivityMetrics)) metrics_.emplace_back(m);
  }
  const auto rank_of = [&](std::string_view name) -> int {
    const auto it = std::find(metrics_.begin(), metrics_.end(), name);
    if (it != metrics_.end()) return static_cast<int>(it - metrics_.begin());
    if (metrics_.size() >= kMetricsMax) return -1;
    metrics_.emplace_back(name);
    return static_cast<int>(metrics_.size()) - 1;
  };
  const auto visit = [&](const PromSeries& s) {
    ++counts_.series;
    std::string_view node = first_label(s, {"Hostname", "hostname", "node", "kubernetes_node", "nodename"});
    if (node.empty()) node = host_of(s.label("instance"));
    const std::string_view name = s.label("__name__").empty() ? metric : s.label("__name__");
    const std::string_view slice = s.label("GPU_I_ID");
    const int rank = rank_of(name);
    if (node.empty()) {
      ++counts_.without_node;
    } else if (rank < 0) {
      ++counts_.other;
    } else if (!slice.empty() && sees_no_slices(name)) {
      ++counts_.blind;
    } else {
      const std::string_view gpu = first_label(s, {"gpu", "UUID", "uuid", "gpu_uuid", "minor_number", "device"});
      Gpu& g = gpus_[fmt::format("{}\n{}\n{}\n{}", node, gpu, slice, rank)];
      if (g.points.empty())
        g = {std::string(node), std::string(gpu), std::string(slice), std::string(s.label("GPU_I_PROFILE")), rank, {}};
      for (const PromPoint& p : s.points) {
        if (std::isfinite(p.value) && p.value >= 0 && p.ms >= 0) {
          g.points.emplace_back(p.ms, static_cast<float>(p.value));
        } else {
          ++counts_.impossible;
        }
      }
    }
  };
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t next = std::min(text.find("\n{", at), text.size());
    std::string one = text.substr(at, next - at);
    at = next == text.size() ? next : next + 1;
    if (trim(one).empty()) continue;
    const auto refused = read_prom_answer(one, visit);
    if (!refused) return tl::unexpected(refused.error());
    counts_.refused += *refused;
  }
  return {};
}

void ActivityReader::infer_step(Duration step) {
  counts_.step = step;
  if (step.ns > 0) return;
  std::map<std::int64_t, std::uint64_t> gaps;
  for (const auto& [key, g] : gpus_) {
    for (std::size_t i = 1; i < g.points.size(); ++i) {
      if (gaps.size() < 10'000 && g.points[i].first > g.points[i - 1].first) ++gaps[g.points[i].first - g.points[i - 1].first];
    }
  }
  const auto most = std::max_element(gaps.begin(), gaps.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  counts_.step = most == gaps.end() ? minutes(5) : milliseconds(most->first);
}

// What a value is multiplied with to be a share: DCGM's utilisation is in percent; others are where most of what is not 0 is
// beyond 1. One reading that cannot be must not turn all others into hundredths.
double ActivityReader::scale(int rank) const {
  if (sees_no_slices(metrics_[static_cast<std::size_t>(rank)])) return 0.01;
  std::uint64_t some = 0, beyond = 0;
  for (const auto& [key, g] : gpus_) {
    if (g.rank != rank) continue;
    for (const auto& [ms, value] : g.points) {
      some += value > 0 ? 1 : 0;
      beyond += value > kOneAndABit ? 1 : 0;
    }
  }
  return beyond * 2 > some ? 0.01 : 1;
}

// Readings beyond all there is say nothing.
void ActivityReader::leave_out_beyond(int rank, double factor) {
  const auto most = static_cast<float>(kOneAndABit / factor);
  for (auto& [key, g] : gpus_) {
    if (g.rank == rank) counts_.impossible += std::erase_if(g.points, [&](const auto& p) { return p.second > most; });
  }
}

std::vector<NodeActivity> ActivityReader::finish(Duration step, double below) {
  infer_step(step);
  int best = -1;
  std::set<std::pair<std::string, std::string>> sliced;
  for (auto& [key, g] : gpus_) {
    if (!g.points.empty() && (best < 0 || g.rank < best)) best = g.rank;
    std::sort(g.points.begin(), g.points.end());
  }
  if (best < 0) return {};
  counts_.metric = metrics_[static_cast<std::size_t>(best)];
  for (const auto& [key, g] : gpus_) {
    if (g.rank == best && !g.slice.empty()) sliced.emplace(g.node, g.gpu);
  }
  const double factor = scale(best);
  leave_out_beyond(best, factor);
  struct Point {
    std::int64_t ms, milli, idle;
  };
  std::map<std::string, std::vector<Point>> nodes;
  for (const auto& [key, g] : gpus_) {
    if (g.rank != best) ++counts_.other;
    // A GPU that is cut into slices is the sum of these.
    if (g.rank != best || (g.slice.empty() && sliced.contains({g.node, g.gpu}))) continue;
    ++counts_.gpus;
    const int sevenths = mig_sevenths(g.profile);
    const std::int64_t milli = g.slice.empty() || sevenths == 7 ? kWhole : std::max(1, sevenths) * kWhole / 7;
    std::vector<Point>& points = nodes[g.node];
    for (std::size_t i = 0; i < g.points.size(); ++i) {
      // Of two that say something of the same time, as where a label changed, the larger is the last here.
      if (i + 1 < g.points.size() && g.points[i + 1].first == g.points[i].first) continue;
      const bool idle = static_cast<double>(g.points[i].second) * factor < below;
      points.push_back({g.points[i].first, milli, idle ? milli : 0});
    }
  }
  std::vector<NodeActivity> out;
  for (auto& [node, points] : nodes) {
    std::sort(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.ms < b.ms; });
    NodeActivity a{node, {}};
    for (std::size_t i = 0; i < points.size();) {
      const std::int64_t ms = points[i].ms;
      ActivitySlice s{{}, {ms * 1'000'000}, 0, 0};
      for (; i < points.size() && points[i].ms == ms; ++i) {
        s.measured_milli += points[i].milli;
        s.idle_milli += points[i].idle;
      }
      s.from = s.to - counts_.step;
      if (!a.slices.empty()) {
        ActivitySlice& last = a.slices.back();
        s.from = std::max(s.from, last.to);
        if (s.from == last.to && s.measured_milli == last.measured_milli && s.idle_milli == last.idle_milli) {
          last.to = s.to;
          continue;
        }
      }
      a.slices.push_back(s);
    }
    out.push_back(std::move(a));
  }
  return out;
}

}  // namespace muster
