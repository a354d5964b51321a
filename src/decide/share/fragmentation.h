// How much of a node's free GPU capacity the pods that usually come cannot use ("Beware of Fragmentation", USENIX ATC 2023). For
// each usual pod the free GPU capacity of the node is lost in so far as the pod does not fit there; a node's fragmentation is the
// mean over the usual pods, weighted by how often they come.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "decide/share/node.h"

namespace muster::share {

struct WeightedShape {
  PodShape shape;
  double weight = 0;  // shares that sum to 1
};

// The usual pods of a workload as the published method defines them: kinds of pods (memory aside) by falling frequency, until 95
// % of the pods are covered; equally frequent ones in the order in which they first come.
std::vector<WeightedShape> typical_pods(std::span<const PodShape> pods);

class Fragmentation {
 public:
  Fragmentation() = default;
  // `cpu_depth` 0 is the published measure: a pod that fits once can use all free GPUs that are large enough. 1: no more of them
  // than the node's free CPU could serve with one such pod on each. Between: so much of each.
  explicit Fragmentation(std::span<const WeightedShape> usual, double cpu_depth = 0);

  // Thousandths of a GPU. 0 without usual pods.
  double of(const NodeState& node) const;

 private:
  // Pods that differ in CPU only: what fits is found by one search.
  struct Group {
    int gpus = 0;
    int gpu_milli = 0;
    std::uint64_t models = kAnyModel;
    std::vector<std::int32_t> cpu_milli;  // rising
    std::vector<double> weight;           // of all pods up to that much CPU
    std::vector<double> weight_per_cpu;   // the same sum of weight / CPU
  };
  double usable_share(const Group& group, std::int32_t cpu_milli, int fitting) const;

  std::vector<Group> groups_;
  double weight_ = 0;
  double cpu_depth_ = 0;
};

}  // namespace muster::share
