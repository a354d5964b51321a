// What a pod's resources are worth on each kind of node, judged by who else will want them. The pods seen so far, scaled until
// they would fill the GPUs that are left, are spread in thought over the kinds of nodes that can take them, each going where it
// is cheapest; a resource's price rises steeply as its planned use nears what is left. So GPU models that only some pods accept
// but many of them want become dear, and so does the CPU of nodes that have little of it for each GPU, while the spare cores of
// other nodes stay cheap.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "decide/share/node.h"

namespace muster::share {

struct Demand {
  PodShape shape;
  double pods = 0;  // seen so far
};

class Prices {
 public:
  // The cluster when empty. A node's `kind` counts these from 0.
  Prices(std::span<const NodeSpec> kinds, std::span<const NodeState> empty_nodes);

  // Plans anew. O(rounds x demands x kinds).
  void plan(std::span<const NodeState> nodes, std::span<const Demand> demands);

  // What the pod would take of a node of this kind, in thousandths of a GPU at price 1.
  double of(const PodShape& pod, int kind) const;

 private:
  static constexpr std::size_t kResources = 3;  // GPU, CPU, memory, each in units of the cluster's GPU capacity
  using Amounts = std::array<double, kResources>;

  Amounts amounts(const PodShape& pod) const;
  bool could_run(const PodShape& pod, std::size_t kind) const;
  void spread(const PodShape& pod, double pods, std::vector<Amounts>& use);
  void set_prices(const std::vector<Amounts>& use);

  std::vector<NodeSpec> kinds_;
  double gpus_per_cpu_ = 0;
  double gpus_per_memory_ = 0;
  std::vector<Amounts> left_;   // by kind
  std::vector<Amounts> price_;  // by kind
  std::vector<double> share_;   // room to work in
};

}  // namespace muster::share
