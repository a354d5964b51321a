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

// Of the nodes in `measured` (places in the table); `kind` says of which cohort each is. Identities are left out, as
// are sets of fewer than `least`.
std::vector<Minority> minorities_of(const FactTable& table, const FactBook& book, const std::vector<std::uint32_t>& measured,
                                    const std::vector<std::uint32_t>& kind, std::size_t least);

}  // namespace muster::fleet
