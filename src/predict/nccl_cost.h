// What NCCL's own tuner reckons that a collective takes, worked out again from the starts and rates that its log prints: the rule
// of NCCL 2.30, with its corrections for trees and for rings over several nodes. It shows what NCCL believes, not what is so.
#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "model/nccl_way.h"

namespace muster::predict {

struct NcclShape {
  std::uint32_t nodes = 1, ranks = 2, channels = 1;
};

// Microseconds; none: NCCL would not use it.
std::optional<double> nccl_reckons_us(const NcclBelief& belief, const NcclShape& shape, double bytes);

// The one it would take; none: nothing is told of the operation.
std::optional<NcclBelief> nccl_takes(std::span<const NcclBelief> beliefs, Collective op, const NcclShape& shape, double bytes);

}  // namespace muster::predict
