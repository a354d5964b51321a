// What a node costs a year, where nobody said: from the prices that ship.
#pragma once
#include <optional>
#include <string>

#include "base/result.h"

namespace muster::cmd {

struct NodePrice {
  double usd_year = 0;
  std::string from;  // in words, with where the price is from
};

constexpr double kNodeYears = 4;  // over which a node is written off
// `given`: said by a flag.
Result<NodePrice> node_price(const std::optional<double>& given, const std::string& gpu, std::uint32_t gpus_per_node,
                             double kw_per_node);

}  // namespace muster::cmd
