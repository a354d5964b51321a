// Chooses the node, and on it the GPU, for each pod that comes. Pure: the same nodes and the same pods in the same order give the
// same choices. Equal scores go to the node that stands first, so the order of the nodes is part of the policy.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "decide/share/fragmentation.h"
#include "decide/share/node.h"
#include "decide/share/prices.h"

namespace muster::share {

enum class Policy : std::uint8_t {
  best_fit,  // the node that would have the least CPU and GPU left
  fgd,       // fragmentation gradient descent as published, whole-number scores included
  muster,    // fragmentation by the pods seen so far, CPU looked at in depth, and the price of what is scarce
};

class Packer {
 public:
  Packer(std::span<const NodeSpec> nodes, Policy policy);

  // What usually comes, for Policy::fgd, which is told so beforehand. Policy::muster learns it from the pods it is given.
  void expect(std::span<const WeightedShape> usual);

  // Decides and takes the resources. Nothing: the pod fits on no node. A pod that fits somewhere is never refused.
  std::optional<Spot> place(const PodShape& pod);

  // For policies kept elsewhere: whether the pod fits on a node, and taking a spot that fits.
  bool fits(const PodShape& pod, std::size_t node) const { return share::fits(nodes_[node], pod); }
  void take(const PodShape& pod, const Spot& spot);
  // The pod has ended.
  void release(const PodShape& pod, const Spot& spot);

  std::span<const NodeState> nodes() const { return nodes_; }

 private:
  struct Offer {
    double score = 0;  // larger is better; kNo: does not fit
    int gpu = 0;       // for a share
  };
  // Offers of all nodes to one kind of pod, each valid while the node's version is unchanged: after a decision only one node has
  // to be judged anew.
  struct Known {
    PodShape shape;
    std::vector<Offer> offer;
    std::vector<std::uint32_t> version;
    std::vector<double> price;  // by kind of node, as of `planned`
    std::uint32_t planned = 0;
  };

  std::size_t known(const PodShape& pod);
  void learn(std::size_t shape);
  void plan();
  void changed(std::size_t node) { ++version_[node]; }
  double fragmentation(std::size_t node);
  Offer judge(Known& pod, std::size_t node);
  Offer best_fit(const PodShape& pod, const NodeState& node) const;
  Offer fgd(const PodShape& pod, std::size_t node);
  Offer muster(Known& pod, std::size_t node);

  std::vector<NodeState> nodes_;
  std::vector<std::uint32_t> version_;
  std::vector<double> fragmentation_;  // of each node, valid at fragmentation_version_
  std::vector<std::uint32_t> fragmentation_version_;
  Policy policy_;
  double cpu_max_ = 1;  // of a node when empty, for best fit
  double gpu_max_ = 1;
  Fragmentation usual_;
  std::vector<NodeSpec> kinds_;
  Prices prices_;
  std::map<PodShape, std::size_t> index_;
  std::vector<Known> known_;
  std::vector<Demand> seen_;  // parallel to known_
  std::uint64_t pods_seen_ = 0;
  std::uint64_t plan_at_ = 1;
  std::uint32_t plans_ = 0;
};

}  // namespace muster::share
