#include "decide/share/prices.h"

#include <algorithm>

#include "base/math.h"

namespace muster::share {
namespace {

// The price is exp(kSteepness * (planned use / what is left - 1)), and that ratio is cut at kUseMax: beyond it everything is lost
// anyway. All four constants were chosen on seeds that no published figure uses; results change little within a factor of two.
constexpr double kSteepness = 7;
constexpr double kUseMax = 1.3;
constexpr double kSpread = 0.15;  // price difference, for each unit a pod takes, at which it goes elsewhere half as often
constexpr int kRounds = 60;
constexpr double kStepMin = 0.02;
constexpr double kNothingLeftMilli = 1000;  // less than a GPU of a resource in a whole kind of node counts as nothing

}  // namespace

Prices::Prices(std::span<const NodeSpec> kinds, std::span<const NodeState> empty_nodes)
    : kinds_(kinds.begin(), kinds.end()), left_(kinds.size()), price_(kinds.size()), share_(kinds.size()) {
  double gpu = 0;
  double cpu = 0;
  double memory = 0;
  for (const NodeState& n : empty_nodes) {
    gpu += n.gpu_milli;
    cpu += n.cpu_milli;
    memory += n.memory_mib;
  }
  gpus_per_cpu_ = cpu > 0 ? gpu / cpu : 0;
  gpus_per_memory_ = memory > 0 ? gpu / memory : 0;
  plan(empty_nodes, {});
}

Prices::Amounts Prices::amounts(const PodShape& pod) const {
  return {static_cast<double>(pod.gpu_milli_total()), pod.cpu_milli * gpus_per_cpu_, pod.memory_mib * gpus_per_memory_};
}

bool Prices::could_run(const PodShape& pod, std::size_t kind) const {
  const NodeSpec& k = kinds_[kind];
  return k.cpu_milli >= pod.cpu_milli && k.memory_mib >= pod.memory_mib && k.gpus >= pod.gpus &&
         (pod.gpus == 0 || (pod.models >> k.model & 1) != 0);
}

// Adds the use by so many pods, divided over the kinds of nodes: cheaper and larger ones get more. A soft choice, since with a
// hard one the plan would swing from round to round.
void Prices::spread(const PodShape& pod, double pods, std::vector<Amounts>& use) {
  const Amounts a = amounts(pod);
  const double size = a[0] + a[1];
  if (size <= 0) return;
  double cheapest = -1;
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    share_[k] = -1;
    if (!could_run(pod, k)) continue;
    const Amounts& p = price_[k];
    share_[k] = (a[0] * p[0] + a[1] * p[1] + a[2] * p[2]) / size;
    if (cheapest < 0 || share_[k] < cheapest) cheapest = share_[k];
  }
  double sum = 0;
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    if (share_[k] < 0) {
      share_[k] = 0;
      continue;
    }
    const double x = (share_[k] - cheapest) / kSpread;
    share_[k] = (left_[k][0] + left_[k][1] + 1) / (1 + x + x * x / 2 + x * x * x / 6);  // falls nearly as exp(-x) does
    sum += share_[k];
  }
  if (sum <= 0) return;
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    const double n = share_[k] * (pods / sum);
    for (std::size_t r = 0; r < kResources; ++r) use[k][r] += n * a[r];
  }
}

void Prices::set_prices(const std::vector<Amounts>& use) {
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    for (std::size_t r = 0; r < kResources; ++r) {
      const double ratio = left_[k][r] > kNothingLeftMilli ? use[k][r] / left_[k][r] : kUseMax;
      price_[k][r] = det_exp(kSteepness * (std::min(ratio, kUseMax) - 1));
    }
  }
}

void Prices::plan(std::span<const NodeState> nodes, std::span<const Demand> demands) {
  for (Amounts& l : left_) l = {};
  double gpu_left = 0;
  for (const NodeState& n : nodes) {
    Amounts& l = left_[static_cast<std::size_t>(n.kind)];
    l[0] += n.gpu_milli;
    l[1] += n.cpu_milli * gpus_per_cpu_;
    l[2] += n.memory_mib * gpus_per_memory_;
    gpu_left += n.gpu_milli;
  }
  double gpu_wanted = 0;
  for (const Demand& d : demands) gpu_wanted += d.pods * d.shape.gpu_milli_total();
  const double scale = gpu_wanted > 0 ? std::max(gpu_left, 1.0) / gpu_wanted : 0;
  // The method of successive averages: the plan is the mean of the rounds' plans, with a floor under the step.
  std::vector<Amounts> mean(kinds_.size());
  std::vector<Amounts> use(kinds_.size());
  for (int round = 0; round < kRounds && scale > 0; ++round) {
    set_prices(mean);
    for (Amounts& u : use) u = {};
    for (const Demand& d : demands) {
      if (d.pods > 0) spread(d.shape, scale * d.pods, use);
    }
    const double step = std::max(1.0 / (round + 1), kStepMin);
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      for (std::size_t r = 0; r < kResources; ++r) mean[k][r] += step * (use[k][r] - mean[k][r]);
    }
  }
  set_prices(mean);
}

double Prices::of(const PodShape& pod, int kind) const {
  const Amounts a = amounts(pod);
  const Amounts& p = price_[static_cast<std::size_t>(kind)];
  return a[0] * p[0] + a[1] * p[1] + a[2] * p[2];
}

}  // namespace muster::share
