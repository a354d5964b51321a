// The values that a minority of a kind has, as sets of nodes: what a slow node may owe its slowness to.
#pragma once
#include <cstdint>
#include <vector>

#include "fleet/causes.h"

namespace muster::fleet {

struct Minority {
  std::vector<FactValue> facts;        // that exactly these nodes have
  std::vector<std::uint32_t> nodes;    // places in `measured`, ascending
  std::vector<std::uint32_t> unknown;  // places of which nobody knows; empty where they are few
  double surprise_bits = 0;            // of the first
};

// Beside the values of each column there are those of all columns of one key: that some part has it, whichever slot it is in.
// Of the nodes in `measured` (places in the table); `kind` says of which cohort each is. Identities are left out, as
// are sets of fewer than `least`; columns of which nearly each node has its own value are named in `left_out`, if given.
std::vector<Minority> minorities_of(const FactTable& table, const FactBook& book, const std::vector<std::uint32_t>& measured,
                                    const std::vector<std::uint32_t>& kind, std::size_t least,
                                    std::vector<std::string>* left_out = nullptr);

}  // namespace muster::fleet
