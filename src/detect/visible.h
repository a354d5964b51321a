// GPUs that vanished from a scrape which should hold them all.
#pragma once
#include <vector>

#include "detect/sign.h"

namespace muster::detect {

class Visible {
 public:
  explicit Visible(const Site& site) : slots_(site.gpus_per_node), lost_(site.nodes.size(), 0) {}
  void take_over(const Finding& f);
  void on_sample(const Sample& m, const State& s, Signs& out);

 private:
  std::uint32_t slots_;
  std::vector<std::uint32_t> lost_;  // per node: slots last seen missing
};

}  // namespace muster::detect
