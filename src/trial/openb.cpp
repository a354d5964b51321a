#include "trial/openb.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/math.h"
#include "base/prng.h"

namespace muster::trial {
namespace {

using share::NodeSpec;
using share::Packer;
using share::PodShape;
using share::Spot;

constexpr double kArrivingShare = 1.3;  // of the GPU capacity

std::int64_t gpu_milli(const std::vector<PodShape>& pods) {
  std::int64_t sum = 0;
  for (const PodShape& p : pods) sum += p.gpu_milli_total();
  return sum;
}

template <class T>
void shuffle(std::vector<T>& items, Prng& r) {
  for (std::size_t n = items.size(); n > 1; --n) std::swap(items[n - 1], items[r.below(n)]);
}

// The list in random order, then pods drawn from it until the next one's GPU share would pass the limit (the published rule: the
// share of one GPU, so the last pod may pass it). A list that asks for more loses random pods instead.
std::vector<PodShape> arrivals(const std::vector<PodShape>& list, double limit_milli, Prng& r) {
  std::vector<PodShape> pods = list;
  shuffle(pods, r);
  std::int64_t asked = gpu_milli(pods);
  while (static_cast<double>(asked) > limit_milli) {
    const std::size_t i = r.below(pods.size());
    asked -= pods[i].gpu_milli_total();
    pods.erase(pods.begin() + static_cast<std::ptrdiff_t>(i));
  }
  if (asked == 0) return pods;
  while (true) {
    const PodShape& p = list[r.below(list.size())];
    if (static_cast<double>(asked + p.gpu_milli) > limit_milli) return pods;
    asked += p.gpu_milli_total();
    pods.push_back(p);
  }
}

// The baseline of chance: any node that fits, any GPU of it that fits.
std::optional<Spot> place_at_random(Packer& packer, const PodShape& pod, Prng& r) {
  std::size_t found = 0;
  std::size_t node = 0;
  for (std::size_t i = 0; i < packer.nodes().size(); ++i) {
    if (packer.fits(pod, i) && r.below(++found) == 0) node = i;
  }
  if (found == 0) return std::nullopt;
  const share::NodeState& n = packer.nodes()[node];
  int gpu = 0;
  std::size_t gpus = 0;
  for (int g = 0; pod.shares() && g < n.gpus; ++g) {
    if (n.free[static_cast<std::size_t>(g)] >= pod.gpu_milli && r.below(++gpus) == 0) gpu = g;
  }
  const Spot spot{node, gpus_for(n, pod, gpu)};
  packer.take(pod, spot);
  return spot;
}

// The mean allocation while the arrived load, rounded to whole per cent, is the one asked for: as published. On a small cluster
// one pod may leap over that; then the allocation at the nearest load counts, if it is near enough to mean anything.
class AtLoad {
 public:
  explicit AtLoad(double pct) : pct_(pct) {}
  void see(double arrived_pct, double alloc_pct) {
    const double off = std::abs(arrived_pct - pct_);
    if (off < off_) {
      off_ = off;
      nearest_ = alloc_pct;
    }
    if (off > 0.5) return;
    sum_ += alloc_pct;
    ++n_;
  }
  double mean() const { return n_ > 0 ? sum_ / static_cast<double>(n_) : nearest_; }

 private:
  double pct_;
  double off_ = 5;
  double nearest_ = std::numeric_limits<double>::quiet_NaN();
  double sum_ = 0;
  std::uint64_t n_ = 0;
};

share::Policy packer_policy(OpenbPolicy p) {
  switch (p) {
    case OpenbPolicy::fgd: return share::Policy::fgd;
    case OpenbPolicy::muster: return share::Policy::muster;
    case OpenbPolicy::random:
    case OpenbPolicy::best_fit: break;
  }
  return share::Policy::best_fit;
}

}  // namespace

OpenbOutcome run_openb(const OpenbWorkload& workload, OpenbPolicy policy, std::uint64_t seed,
                       const std::function<std::int64_t()>& thread_cpu_ns) {
  MUSTER_CHECK(!workload.nodes.empty() && !workload.pods.empty());
  Prng order(seed, "openb-order");
  Prng chance(seed, "openb-chance");
  double capacity = 0;
  for (const NodeSpec& n : workload.nodes) capacity += n.gpus * share::kGpuMilli;
  const std::vector<PodShape> pods = arrivals(workload.pods, kArrivingShare * capacity, order);
  std::vector<NodeSpec> nodes = workload.nodes;
  shuffle(nodes, order);

  Packer packer(nodes, packer_policy(policy));
  if (policy == OpenbPolicy::fgd) packer.expect(share::typical_pods(workload.pods));
  OpenbOutcome out;
  out.seed = seed;
  out.pods = pods.size();
  AtLoad at100(100);
  AtLoad at130(130);
  double arrived = 0;
  double allocated = 0;
  const std::int64_t began = thread_cpu_ns();
  for (const PodShape& pod : pods) {
    const bool placed = (policy == OpenbPolicy::random ? place_at_random(packer, pod, chance) : packer.place(pod)).has_value();
    arrived += pod.gpu_milli_total();
    if (placed)
      allocated += pod.gpu_milli_total();
    else
      ++out.lost;
    at100.see(100 * arrived / capacity, 100 * allocated / capacity);
    at130.see(100 * arrived / capacity, 100 * allocated / capacity);
  }
  out.decision_us = static_cast<double>(thread_cpu_ns() - began) / 1e3 / static_cast<double>(pods.size());
  out.alloc_pct_100 = at100.mean();
  out.alloc_pct_130 = at130.mean();
  return out;
}

OpenbSummary summarise(const std::vector<OpenbOutcome>& outcomes) {
  OpenbSummary s;
  const auto n = static_cast<double>(outcomes.size());
  for (const OpenbOutcome& o : outcomes) {
    s.alloc_pct_100_mean += o.alloc_pct_100 / n;
    s.alloc_pct_130_mean += o.alloc_pct_130 / n;
    s.decision_us_mean += o.decision_us / n;
  }
  double squares = 0;
  for (const OpenbOutcome& o : outcomes) {
    squares += (o.alloc_pct_100 - s.alloc_pct_100_mean) * (o.alloc_pct_100 - s.alloc_pct_100_mean);
  }
  if (outcomes.size() > 1) s.alloc_pct_100_sd = det_sqrt(squares / (n - 1));
  return s;
}

}  // namespace muster::trial
