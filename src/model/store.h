// What data and checkpoints are kept on: one building block of a store that grows by such, as its maker's data sheet has it.
#pragma once
#include <cstdint>
#include <string>

namespace muster {

struct StoreKind {
  std::string name;      // "lustre", ...
  bool objects = false;  // the cold tier: whole objects, over HTTP
  double read_gb_s = 0, write_gb_s = 0;
  double usable_pb = 0;
  double kw = 0;
  std::uint32_t rack_units = 2;
  std::uint32_t ports = 2;  // to the network
  std::uint32_t least = 1;  // blocks, so that it outlives the loss of one
  std::string source;
};

}  // namespace muster
