// What a node costs a year, where nobody said: from the prices that ship.
#pragma once
#include <optional>
#include <string>

#include "base/result.h"

namespace muster::cmd {

struct NodePrice {
  std::optional<double> usd_year;  // none: no price of its GPUs is known
  std::string from;  // in words, with where the price is from
};

constexpr double kNodeYears = 4;  // over which a node is written off
// `given` and `gpu`: said by a flag; `model` is the cluster's own, for where no GPU was said.
Result<NodePrice> node_price(const std::optional<double>& given, const std::string& gpu, const std::string& model,
                             std::uint32_t gpus_per_node, double kw_per_node);

}  // namespace muster::cmd
