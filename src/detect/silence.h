// Nodes that stopped reporting, and nodes that came back with a new boot nobody ordered.
#pragma once
#include <vector>

#include "detect/sign.h"

namespace muster::detect {

class Silence {
 public:
  explicit Silence(const Site& site);
  // An open finding of a controller before this one: its end is to be noticed. The other detectors have the same.
  void take_over(const Finding& f);
  // `mono` is the time of the turn that brought the sample.
  void on_sample(const Sample& m, const State& s, Time mono, Signs& out);
  // Looks at the nodes that have been quiet longest; stops at the first that has not been quiet for long enough.
  void on_turn(const State& s, Time utc, Time mono, Signs& out);
  // When it has to look again, mono.
  Time next(const State& s) const;

 private:
  void unlink(std::uint32_t n);
  void to_back(std::uint32_t n);

  // The nodes not said to be silent, in the order of when they were last heard: a doubly linked list in arrays, so that a report
  // costs O(1).
  struct Link {
    std::uint32_t before;
    std::uint32_t after;
  };
  std::vector<Link> links_;  // the last entry is the list's head
  std::vector<Time> heard_;  // mono; kNever: already said to be silent
  std::vector<double> boot_s_;
  std::vector<double> boot_told_s_;  // utc, when it was last told
  bool begun_ = false;
};

}  // namespace muster::detect
