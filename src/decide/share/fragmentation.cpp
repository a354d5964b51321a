#include "decide/share/fragmentation.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace muster::share {

std::vector<WeightedShape> typical_pods(std::span<const PodShape> pods) {
  std::vector<WeightedShape> kinds;
  std::map<PodShape, std::size_t> index;
  for (PodShape p : pods) {
    p.memory_mib = 0;
    const auto [it, fresh] = index.try_emplace(p, kinds.size());
    if (fresh) kinds.push_back({p, 0});
    kinds[it->second].weight += 1;
  }
  std::stable_sort(kinds.begin(), kinds.end(), [](const auto& a, const auto& b) { return a.weight > b.weight; });
  double covered = 0;
  std::size_t n = 0;
  while (n < kinds.size() && covered < 0.95 * static_cast<double>(pods.size())) covered += kinds[n++].weight;
  kinds.resize(n);
  for (WeightedShape& k : kinds) k.weight /= covered;
  return kinds;
}

Fragmentation::Fragmentation(std::span<const WeightedShape> usual, double cpu_depth) : cpu_depth_(cpu_depth) {
  std::map<std::tuple<int, int, std::uint64_t>, std::map<std::int32_t, double>> kinds;
  for (const WeightedShape& u : usual) {
    weight_ += u.weight;
    if (u.shape.gpus > 0) kinds[{u.shape.gpus, u.shape.gpu_milli, u.shape.models}][u.shape.cpu_milli] += u.weight;
  }
  for (const auto& [key, by_cpu] : kinds) {
    Group g;
    std::tie(g.gpus, g.gpu_milli, g.models) = key;
    double sum = 0;
    double sum_per_cpu = 0;
    for (const auto& [cpu, weight] : by_cpu) {
      g.cpu_milli.push_back(cpu);
      g.weight.push_back(sum += weight);
      g.weight_per_cpu.push_back(sum_per_cpu += weight / std::max(cpu, 1));
    }
    groups_.push_back(std::move(g));
  }
}

// The part of the GPUs that are large enough which these pods can use, summed over their weights.
double Fragmentation::usable_share(const Group& g, std::int32_t cpu_milli, int fitting) const {
  const auto up_to = [&](double cpu) {
    return static_cast<std::size_t>(std::upper_bound(g.cpu_milli.begin(), g.cpu_milli.end(), cpu) - g.cpu_milli.begin());
  };
  const std::size_t fit = up_to(cpu_milli);
  const double once = g.weight[fit - 1];
  if (cpu_depth_ <= 0) return once;
  // Pods of c cores serve all `fitting` GPUs when cpu / c * gpus >= fitting; greedier ones serve that share of them.
  const double cpu_per_round = static_cast<double>(cpu_milli) * g.gpus / fitting;
  const std::size_t all = std::min(up_to(cpu_per_round), fit);
  const double served = all > 0 ? g.weight[all - 1] : 0;
  const double greedy_per_cpu = g.weight_per_cpu[fit - 1] - (all > 0 ? g.weight_per_cpu[all - 1] : 0);
  return once + cpu_depth_ * (served + greedy_per_cpu * cpu_per_round - once);
}

double Fragmentation::of(const NodeState& node) const {
  double usable = 0;
  for (const Group& g : groups_) {
    if ((g.models >> node.model & 1) == 0 || node.cpu_milli < g.cpu_milli.front()) continue;
    int fitting = 0;
    int milli = 0;
    for (int i = 0; i < node.gpus; ++i) {
      const int free = node.free[static_cast<std::size_t>(i)];
      if (free < g.gpu_milli) continue;
      ++fitting;
      milli += free;
    }
    if (fitting < g.gpus) continue;
    usable += usable_share(g, node.cpu_milli, fitting) * milli;
  }
  return weight_ * node.gpu_milli - usable;
}

}  // namespace muster::share
