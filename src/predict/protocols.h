// What NCCL's three protocols cost: LL and LL128 send flags with the data, so that nobody waits for a fence; they start soonest
// and carry less. The constants are those of NCCL 2.30's own tuning table (latencies of a base and of each hop, shares of
// bandwidth).
#pragma once
#include <string_view>
#include <vector>

#include "model/collective.h"

namespace muster::predict {

struct ProtocolCost {
  std::string_view name;  // as NCCL calls it
  double start_us = 0;    // of the smallest operation
  double bandwidth = 1;   // share of what Simple carries
};

// `algorithm` as NCCL calls it; "direct" is its sends and receives. Those that the algorithm has, Simple last.
std::vector<ProtocolCost> protocol_costs(std::string_view algorithm, const CollectiveSetup& setup);

}  // namespace muster::predict
