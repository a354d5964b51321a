#include "predict/flows.h"

#include <algorithm>
#include <queue>

namespace muster::predict {
namespace {

constexpr double kNothing = 1e-12;  // of a flow: what is left of a load when all its flows have their rate

struct Bottleneck {
  double rate;
  std::uint32_t link;
  // The smallest first; links of the same rate in their order.
  bool operator<(const Bottleneck& other) const { return rate != other.rate ? rate > other.rate : link > other.link; }
};

}  // namespace

// Water is let into all flows alike; the link that is full first fixes its flows, and so on. A link's rate only rises while
// others are fixed, so an old entry of the heap is too low, never too high: it is looked at again and put back.
std::vector<double> max_min(const Flows& flows, std::span<const double> capacity, double unlimited) {
  std::vector<double> left(capacity.begin(), capacity.end()), load(capacity.size(), 0.0);
  std::vector<std::uint32_t> counts(capacity.size() + 1, 0);
  for (std::size_t f = 0; f < flows.size(); ++f) {
    for (const Flows::Use& u : flows.uses(f)) {
      load[u.link] += u.share;
      ++counts[u.link + 1];
    }
  }
  for (std::size_t i = 1; i < counts.size(); ++i) counts[i] += counts[i - 1];
  std::vector<std::uint32_t> on(counts.back());  // flows by link
  std::vector<std::uint32_t> fill(counts.begin(), counts.end() - 1);
  for (std::size_t f = 0; f < flows.size(); ++f) {
    for (const Flows::Use& u : flows.uses(f)) on[fill[u.link]++] = static_cast<std::uint32_t>(f);
  }
  std::priority_queue<Bottleneck> next;
  for (std::uint32_t l = 0; l < capacity.size(); ++l) {
    if (load[l] > kNothing) next.push({left[l] / load[l], l});
  }
  std::vector<double> rate(flows.size(), -1.0);
  while (!next.empty()) {
    const Bottleneck b = next.top();
    next.pop();
    if (load[b.link] <= kNothing) continue;
    const double now = std::max(0.0, left[b.link]) / load[b.link];
    if (now > b.rate * (1 + 1e-12)) {
      next.push({now, b.link});
      continue;
    }
    for (std::uint32_t i = counts[b.link]; i < counts[b.link + 1]; ++i) {
      const std::uint32_t f = on[i];
      if (rate[f] >= 0) continue;
      rate[f] = now;
      for (const Flows::Use& u : flows.uses(f)) {
        left[u.link] -= now * u.share;
        load[u.link] -= u.share;
      }
    }
    load[b.link] = 0;
  }
  for (double& r : rate) {
    if (r < 0) r = unlimited;
  }
  return rate;
}

std::vector<double> max_min_paused(const Flows& flows, std::span<const double> capacity, double unlimited) {
  constexpr int kRounds = 200;  // limits only fall, and a pause travels one flow further in each
  constexpr double kFull = 1 - 1e-9;
  const auto links = static_cast<std::uint32_t>(capacity.size());
  // What a flow may have at most, as a link of its own.
  std::vector<double> all(capacity.begin(), capacity.end());
  all.resize(links + flows.size(), 1e300);
  Flows limited;
  for (std::size_t f = 0; f < flows.size(); ++f) {
    std::vector<Flows::Use> uses(flows.uses(f).begin(), flows.uses(f).end());
    uses.push_back({links + static_cast<std::uint32_t>(f), 1});
    limited.add(uses);
  }
  std::vector<double> rate;
  for (int round = 0; round < kRounds; ++round) {
    rate = max_min(limited, all, unlimited);
    std::vector<double> sum(links, 0.0), most(links, 0.0), paused(links, 1e300);
    for (std::size_t f = 0; f < flows.size(); ++f) {
      for (const Flows::Use& u : flows.uses(f)) {
        sum[u.link] += u.share * rate[f];
        most[u.link] = std::max(most[u.link], rate[f]);
      }
    }
    for (std::size_t f = 0; f < flows.size(); ++f) {
      const auto uses = flows.uses(f);
      const auto held = std::find_if(uses.begin(), uses.end(), [&](const Flows::Use& u) {
        return sum[u.link] >= capacity[u.link] * kFull && rate[f] >= most[u.link] * kFull;
      });
      if (held == uses.end()) continue;
      for (auto u = uses.begin(); u != held; ++u) paused[u->link] = std::min(paused[u->link], rate[f]);
    }
    bool changed = false;
    for (std::size_t f = 0; f < flows.size(); ++f) {
      for (const Flows::Use& u : flows.uses(f)) {
        double& limit = all[links + f];
        if (rate[f] > paused[u.link] / kFull && paused[u.link] < limit) {
          limit = paused[u.link];
          changed = true;
        }
      }
    }
    if (!changed) break;
  }
  for (std::size_t f = 0; f < flows.size(); ++f) {
    if (flows.uses(f).empty()) rate[f] = unlimited;
  }
  return rate;
}

}  // namespace muster::predict
