#include "decide/share/packer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/math.h"

namespace muster::share {
namespace {

constexpr double kNo = -std::numeric_limits<double>::infinity();

// Policy::muster scores a node by the fragmentation that the pod avoids there, in GPUs, less the price of what it takes; its
// measure of fragmentation looks kCpuDepth deep into the CPU. Both numbers were chosen on seeds that no published figure uses.
constexpr double kPriceWeight = 1;
constexpr double kCpuDepth = 0.7;
// Prices and what is usual are worked out anew when a quarter more pods have come, and at least every so many at first.
constexpr std::uint64_t kPlanPodsMin = 20;
constexpr std::uint64_t kPlanShare = 4;

std::vector<NodeSpec> kinds_of(std::span<const NodeSpec> nodes) {
  std::vector<NodeSpec> kinds(nodes.begin(), nodes.end());
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  return kinds;
}

std::vector<NodeState> empty_nodes(std::span<const NodeSpec> nodes, const std::vector<NodeSpec>& kinds) {
  std::vector<NodeState> states;
  states.reserve(nodes.size());
  for (const NodeSpec& n : nodes) {
    const auto kind = std::lower_bound(kinds.begin(), kinds.end(), n) - kinds.begin();
    states.push_back(NodeState::empty(n, static_cast<int>(kind)));
  }
  return states;
}

// Calls f(gpu) for each GPU that a share could go to, once for those with equally much free; once, with 0, for other pods.
template <class F>
void for_each_choice(const PodShape& pod, const NodeState& node, F f) {
  if (!pod.shares()) return f(0);
  for (int g = 0; g < node.gpus; ++g) {
    const auto end = node.free.begin() + g;
    if (*end >= pod.gpu_milli && std::find(node.free.begin(), end, *end) == end) f(g);
  }
}

NodeState after(NodeState node, const PodShape& pod, int gpu) {
  take(node, pod, gpus_for(node, pod, gpu));
  return node;
}

}  // namespace

Packer::Packer(std::span<const NodeSpec> nodes, Policy policy)
    : version_(nodes.size(), 1),
      fragmentation_(nodes.size()),
      fragmentation_version_(nodes.size()),
      policy_(policy),
      kinds_(kinds_of(nodes)),
      prices_(kinds_, empty_nodes(nodes, kinds_)) {
  nodes_ = empty_nodes(nodes, kinds_);
  for (const NodeState& n : nodes_) {
    cpu_max_ = std::max<double>(cpu_max_, n.cpu_milli);
    gpu_max_ = std::max<double>(gpu_max_, n.gpu_milli);
  }
}

void Packer::expect(std::span<const WeightedShape> usual) {
  usual_ = Fragmentation(usual, policy_ == Policy::muster ? kCpuDepth : 0);
  for (std::size_t i = 0; i < nodes_.size(); ++i) changed(i);
}

std::optional<Spot> Packer::place(const PodShape& pod) {
  const std::size_t shape = known(pod);
  if (policy_ == Policy::muster) learn(shape);
  Known& k = known_[shape];
  std::size_t best = nodes_.size();
  double score = kNo;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (k.version[i] != version_[i]) {
      k.version[i] = version_[i];
      k.offer[i] = judge(k, i);
    }
    if (k.offer[i].score > score) {
      score = k.offer[i].score;
      best = i;
    }
  }
  if (best == nodes_.size()) return std::nullopt;
  const Spot spot{best, gpus_for(nodes_[best], pod, k.offer[best].gpu)};
  take(pod, spot);
  return spot;
}

void Packer::take(const PodShape& pod, const Spot& spot) {
  share::take(nodes_[spot.node], pod, spot.gpus);
  changed(spot.node);
}

void Packer::release(const PodShape& pod, const Spot& spot) {
  give_back(nodes_[spot.node], pod, spot.gpus);
  changed(spot.node);
}

std::size_t Packer::known(const PodShape& pod) {
  const auto [it, fresh] = index_.try_emplace(pod, known_.size());
  if (fresh) {
    known_.push_back({pod, std::vector<Offer>(nodes_.size()), std::vector<std::uint32_t>(nodes_.size()), {}, 0});
    seen_.push_back({pod, 0});
  }
  return it->second;
}

void Packer::learn(std::size_t shape) {
  seen_[shape].pods += 1;
  if (++pods_seen_ < plan_at_) return;
  plan_at_ = pods_seen_ + std::max(kPlanPodsMin, pods_seen_ / kPlanShare);
  plan();
}

void Packer::plan() {
  prices_.plan(nodes_, seen_);
  std::vector<WeightedShape> usual;
  for (const Demand& d : seen_) usual.push_back({d.shape, d.pods / static_cast<double>(pods_seen_)});
  ++plans_;
  expect(usual);
}

double Packer::fragmentation(std::size_t node) {
  if (fragmentation_version_[node] != version_[node]) {
    fragmentation_version_[node] = version_[node];
    fragmentation_[node] = usual_.of(nodes_[node]);
  }
  return fragmentation_[node];
}

Packer::Offer Packer::judge(Known& pod, std::size_t node) {
  if (!share::fits(nodes_[node], pod.shape)) return {kNo, 0};
  switch (policy_) {
    case Policy::best_fit: return best_fit(pod.shape, nodes_[node]);
    case Policy::fgd: return fgd(pod.shape, node);
    case Policy::muster: return muster(pod, node);
  }
  return {kNo, 0};
}

// Half weight for the CPU and for the GPU left, in hundredths of the largest node, cut to whole ones as published; a share goes
// to the GPU with the least free.
Packer::Offer Packer::best_fit(const PodShape& pod, const NodeState& node) const {
  const double left =
      0.5 * (node.cpu_milli - pod.cpu_milli) / cpu_max_ + 0.5 * (node.gpu_milli - pod.gpu_milli_total()) / gpu_max_;
  Offer offer{std::floor((1 - left) * 100), -1};
  for_each_choice(pod, node, [&](int g) {
    const auto free = [&](int i) { return node.free[static_cast<std::size_t>(i)]; };
    if (offer.gpu < 0 || free(g) < free(offer.gpu)) offer.gpu = g;
  });
  return offer;
}

// The sigmoid of the fragmentation avoided, in GPUs, cut to whole hundredths: as published, and better than without the cut,
// because the ties it makes let the first nodes fill up before others are begun.
Packer::Offer Packer::fgd(const PodShape& pod, std::size_t node) {
  const double before = fragmentation(node);
  Offer best{kNo, 0};
  for_each_choice(pod, nodes_[node], [&](int g) {
    const double avoided = (before - usual_.of(after(nodes_[node], pod, g))) / kGpuMilli;
    const double score = std::floor(100 / (1 + det_exp(-avoided)));
    if (score > best.score) best = {score, g};
  });
  return best;
}

Packer::Offer Packer::muster(Known& pod, std::size_t node) {
  if (pod.planned != plans_) {
    pod.planned = plans_;
    pod.price.resize(kinds_.size());
    for (std::size_t k = 0; k < kinds_.size(); ++k) pod.price[k] = prices_.of(pod.shape, static_cast<int>(k));
  }
  const NodeState& now = nodes_[node];
  const double before = fragmentation(node);
  const double price = kPriceWeight * pod.price[static_cast<std::size_t>(now.kind)] / kGpuMilli;
  Offer best{kNo, 0};
  for_each_choice(pod.shape, now, [&](int g) {
    const double score = (before - usual_.of(after(now, pod.shape, g))) / kGpuMilli - price;
    if (score > best.score) best = {score, g};
  });
  return best;
}

}  // namespace muster::share
