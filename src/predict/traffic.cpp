#include "predict/traffic.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/prng.h"

namespace muster::predict {
namespace {

using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  // sender, receiver

// Links that the flows of one pattern use, all together: three gigabytes. 65,536 endpoints below three levels, spread over all
// ways, come near; flows with one way each are far below.
constexpr std::size_t kUsesMax = 150'000'000;

class Measure {
 public:
  Measure(const Fabric& fabric, Router& router, const Conditions& c = {}) : router_(router), paused_(c.paused) {
    for (const FabricLink& l : fabric.links) capacity_.push_back(l.gb_s);
  }

  // Those of the pairs count; the others are there all the time.
  Result<void> pattern(const Pairs& pairs, const Pairs& others = {}) {
    Flows flows;
    std::vector<double> load(capacity_.size(), 0.0);
    std::vector<double> own;  // what each could send alone
    std::size_t uses = 0;
    for (const Pairs* some : {&pairs, &others}) {
      for (const auto& [from, to] : *some) {
        auto way = router_.way(from, to);
        if (!way) return tl::unexpected(way.error());
        for (const Flows::Use& u : *way) load[u.link] += u.share;
        uses += way->size();
        if (uses > kUsesMax) {
          return fail(Code::refused, fmt::format("the flows of one pattern use more than {} links, all together", kUsesMax),
                      "ask for ways by tables or by a hash, which are one for each flow, or for a smaller fabric");
        }
        own.push_back(std::min(capacity_[way->front().link], capacity_[way->back().link]));
        flows.add(*way);
      }
    }
    const std::vector<double> rates = paused_ ? max_min_paused(flows, capacity_, 0) : max_min(flows, capacity_, 0);
    double sum = 0, slowest = 1;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const double share = rates[i] / own[i];
      sum += share;
      slowest = std::min(slowest, share);
    }
    const double mean = sum / static_cast<double>(pairs.size()), fullest = *std::max_element(load.begin(), load.end());
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
  bool paused_;
  std::vector<double> capacity_;
  TrafficFigures figures_;
};

Result<std::vector<std::uint32_t>> at_least_two(const Fabric& fabric) {
  std::vector<std::uint32_t> all = fabric.endpoints();
  if (all.size() < 2) return fail(Code::bad_input, "a fabric with fewer than two endpoints has no traffic");
  return all;
}

void shuffle(std::vector<std::uint32_t>& all, Prng& prng) {
  for (std::size_t i = all.size() - 1; i > 0; --i) std::swap(all[i], all[prng.below(i + 1)]);
}

// Both ways, of two at a time.
Pairs both_ways(const std::vector<std::uint32_t>& all) {
  Pairs out;
  for (std::size_t i = 0; i + 1 < all.size(); i += 2) {
    out.emplace_back(all[i], all[i + 1]);
    out.emplace_back(all[i + 1], all[i]);
  }
  return out;
}

struct Shared {
  std::vector<std::uint32_t> own;  // endpoints that are measured, in their order
  Pairs others;
};
Result<Shared> shared_out(const Fabric& fabric, const Conditions& c) {
  auto all = at_least_two(fabric);
  if (!all) return tl::unexpected(all.error());
  const auto taken = static_cast<std::size_t>(c.beside * static_cast<double>(all->size()));
  if (taken + 2 > all->size())
    return fail(Code::bad_input, "other jobs leave fewer than two network cards", "a smaller share for other jobs");
  std::vector<std::uint32_t> mixed = *all;
  Prng prng(c.seed, "beside");
  shuffle(mixed, prng);
  mixed.resize(taken);
  Shared out{{}, both_ways(mixed)};
  std::sort(mixed.begin(), mixed.end());
  for (const std::uint32_t e : *all) {
    if (!std::binary_search(mixed.begin(), mixed.end(), e)) out.own.push_back(e);
  }
  return out;
}

}  // namespace

Result<TrafficFigures> shift_traffic(const Fabric& fabric, Router& router, std::uint32_t step, const Conditions& c) {
  const auto shared = shared_out(fabric, c);
  if (!shared) return tl::unexpected(shared.error());
  const std::vector<std::uint32_t>& all = shared->own;
  Measure measure(fabric, router, c);
  Pairs pairs(all.size());
  for (std::size_t k = 1; k < all.size(); k += step) {
    for (std::size_t i = 0; i < all.size(); ++i) pairs[i] = {all[i], all[(i + k) % all.size()]};
    if (auto ok = measure.pattern(pairs, shared->others); !ok) return tl::unexpected(ok.error());
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
  Pairs pairs(ranks);
  for (std::uint32_t i = 0; i < ranks; ++i) pairs[i] = {(*all)[i], (*all)[(i + apart) % ranks]};
  if (auto ok = measure.pattern(pairs); !ok) return tl::unexpected(ok.error());
  return measure.figures();
}

Result<TrafficFigures> bisection_traffic(const Fabric& fabric, Router& router, std::uint32_t patterns, std::uint64_t seed,
                                         const Conditions& c) {
  auto shared = shared_out(fabric, c);
  if (!shared) return tl::unexpected(shared.error());
  Measure measure(fabric, router, c);
  Prng prng(seed, "bisection");
  for (std::uint32_t k = 0; k < patterns; ++k) {
    shuffle(shared->own, prng);
    if (auto ok = measure.pattern(both_ways(shared->own), shared->others); !ok) return tl::unexpected(ok.error());
  }
  return measure.figures();
}

Result<void> cut_cables(Fabric& fabric, std::uint32_t cables, std::uint64_t seed) {
  std::vector<std::uint32_t> between;
  for (std::uint32_t l = 0; l < fabric.links.size(); l += 2) {
    if (fabric.nodes[fabric.links[l].from].is_switch && fabric.nodes[fabric.links[l].to].is_switch) between.push_back(l);
  }
  if (cables > between.size())
    return fail(Code::bad_input, fmt::format("{} cables cannot be cut: {} join switches", cables, between.size()),
                fmt::format("{} or fewer", between.size()));
  if (between.empty()) return {};
  Prng prng(seed, "cut");
  shuffle(between, prng);
  for (std::uint32_t i = 0; i < cables; ++i) fabric.cut(between[i]);
  return {};
}

}  // namespace muster::predict
