// Flows that share links: what each gets when every one takes as much as it can without taking from one that has less.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace muster::predict {

// Flows by the links they use. A flow that is spread over several ways uses a link with a part of itself.
class Flows {
 public:
  struct Use {
    std::uint32_t link;
    double share;
  };

  void add(std::span<const Use> uses) {
    uses_.insert(uses_.end(), uses.begin(), uses.end());
    begin_.push_back(uses_.size());
  }
  std::size_t size() const { return begin_.size() - 1; }
  std::span<const Use> uses(std::size_t flow) const {
    return std::span(uses_).subspan(begin_[flow], begin_[flow + 1] - begin_[flow]);
  }

 private:
  std::vector<Use> uses_;
  std::vector<std::size_t> begin_{0};
};

// Max-min fair rates, in the unit of the links' capacities. A flow that uses no link gets `unlimited`.
std::vector<double> max_min(const Flows& flows, std::span<const double> capacity, double unlimited);

// The same where nothing slows the senders of a full link, but the links before it are paused (PFC without congestion marking):
// what else is on those waits in the same queues, and gets no more than those who are the cause. Each flow's links are in the
// order of its way.
std::vector<double> max_min_paused(const Flows& flows, std::span<const double> capacity, double unlimited);

}  // namespace muster::predict
