#include "predict/traffic.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/prng.h"

namespace muster::predict {
namespace {

class Measure {
 public:
  Measure(const Fabric& fabric, Router& router) : router_(router) {
    for (const FabricLink& l : fabric.links) capacity_.push_back(l.gb_s);
  }

  // Pairs of sender and receiver.
  Result<void> pattern(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs) {
    Flows flows;
    std::vector<double> load(capacity_.size(), 0.0);
    std::vector<double> own;  // what each could send alone
    for (const auto& [from, to] : pairs) {
      auto way = router_.way(from, to);
      if (!way) return tl::unexpected(way.error());
      for (const Flows::Use& u : *way) load[u.link] += u.share;
      own.push_back(std::min(capacity_[way->front().link], capacity_[way->back().link]));
      flows.add(*way);
    }
    const std::vector<double> rates = max_min(flows, capacity_, 0);
    double sum = 0, slowest = 1;
    for (std::size_t i = 0; i < rates.size(); ++i) {
      const double share = rates[i] / own[i];
      sum += share;
      slowest = std::min(slowest, share);
    }
    const double mean = sum / static_cast<double>(rates.size()), fullest = *std::max_element(load.begin(), load.end());
    ++figures_.patterns;
    figures_.mean += mean;
    figures_.worst = std::min(figures_.worst, mean);
    figures_.slowest_mean += slowest;
    figures_.max_load_mean += fullest;
    figures_.max_load = std::max(figures_.max_load, fullest);
    return {};
  }

  TrafficFigures figures() const {
    TrafficFigures f = figures_;
    const double n = std::max(1U, f.patterns);
    f.mean /= n;
    f.slowest_mean /= n;
    f.max_load_mean /= n;
    return f;
  }

 private:
  Router& router_;
  std::vector<double> capacity_;
  TrafficFigures figures_;
};

Result<std::vector<std::uint32_t>> at_least_two(const Fabric& fabric) {
  std::vector<std::uint32_t> all = fabric.endpoints();
  if (all.size() < 2) return fail(Code::bad_input, "a fabric with fewer than two endpoints has no traffic");
  return all;
}

}  // namespace

Result<TrafficFigures> shift_traffic(const Fabric& fabric, Router& router, std::uint32_t step) {
  const auto all = at_least_two(fabric);
  if (!all) return tl::unexpected(all.error());
  Measure measure(fabric, router);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs(all->size());
  for (std::size_t k = 1; k < all->size(); k += step) {
    for (std::size_t i = 0; i < all->size(); ++i) pairs[i] = {(*all)[i], (*all)[(i + k) % all->size()]};
    if (auto ok = measure.pattern(pairs); !ok) return tl::unexpected(ok.error());
  }
  return measure.figures();
}

Result<TrafficFigures> ring_traffic(const Fabric& fabric, Router& router, std::uint32_t ranks, std::uint32_t apart) {
  const auto all = at_least_two(fabric);
  if (!all) return tl::unexpected(all.error());
  if (ranks > all->size() || ranks < 2 || apart % ranks == 0) {
    return fail(Code::bad_input,
                fmt::format("a ring of {} ranks, {} apart, on a fabric of {} network cards", ranks, apart, all->size()),
                "at least two ranks, no more than there are cards, and no rank beside itself");
  }
  Measure measure(fabric, router);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs(ranks);
  for (std::uint32_t i = 0; i < ranks; ++i) pairs[i] = {(*all)[i], (*all)[(i + apart) % ranks]};
  if (auto ok = measure.pattern(pairs); !ok) return tl::unexpected(ok.error());
  return measure.figures();
}

Result<TrafficFigures> bisection_traffic(const Fabric& fabric, Router& router, std::uint32_t patterns, std::uint64_t seed) {
  auto all = at_least_two(fabric);
  if (!all) return tl::unexpected(all.error());
  Measure measure(fabric, router);
  Prng prng(seed, "bisection");
  for (std::uint32_t k = 0; k < patterns; ++k) {
    for (std::size_t i = all->size() - 1; i > 0; --i) std::swap((*all)[i], (*all)[prng.below(i + 1)]);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
    for (std::size_t i = 0; i + 1 < all->size(); i += 2) {
      pairs.emplace_back((*all)[i], (*all)[i + 1]);
      pairs.emplace_back((*all)[i + 1], (*all)[i]);
    }
    if (auto ok = measure.pattern(pairs); !ok) return tl::unexpected(ok.error());
  }
  return measure.figures();
}

}  // namespace muster::predict
