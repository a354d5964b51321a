// Fleets that never were, with what nodes have and how fast they are: to try whether drift and causes are found there.
#pragma once
#include <cstdint>

#include "fleet/causes.h"

namespace muster::trial {

struct MadeFleetOptions {
  std::uint32_t nodes = 512;
  std::uint32_t facts = 200;
  std::uint32_t rack = 16;      // nodes of one
  std::uint32_t causes = 1;     // values that make slow
  double effect = 0.02;         // by so much each
  double noise = 0.01;          // of a node: nine of ten vary so much, the tenth three times as much
  double broken = 0.01;         // nodes that are slow by 3 to 30 % whatever they have
  double rack_spread = 0;       // of racks among themselves
  std::uint32_t affected = 13;  // nodes that a cause has at least
};

struct MadeFleet {
  FactTable table;
  NodePerformance performance;
  std::vector<fleet::FactValue> causes;
  std::vector<std::uint32_t> affected;  // nodes, of each cause
};
// Identities, values of racks, settings that all share, settings and versions of which some nodes have another, at random or by
// rack, some of them always together, and one cell in 200 that nobody looked at. The same seed gives the same fleet.
MadeFleet make_fleet(const MadeFleetOptions& options, std::uint64_t seed);

struct BatchFleetOptions {
  std::uint32_t nodes = 128, rack = 8, facts = 60;
  std::uint32_t slow_racks = 3;
  double effect = 0.02, noise = 0.01;
  std::uint32_t settings = 8;  // each rolled out to 13 to 39 nodes in a row
  bool racks_told = true;      // else there is neither a fact nor a name that says which nodes stand together
};
// Racks that are slow by what they hang on, and settings that were rolled out in batches and make nothing slow.
MadeFleet make_batch_fleet(const BatchFleetOptions& options, std::uint64_t seed);

// Nodes of one kind with all that the book of facts knows, as they come out of the factory: identities differ, the gateway
// follows the rack, memory is 2015 or 2016 GiB, and that is all that differs.
FactTable make_clean_fleet(const FactBook& book, std::uint32_t nodes, std::uint64_t seed);

struct Seeded {
  std::uint32_t node = 0, column = 0;
};
// One value each, of a node and a fact that are no name: another value, another number, or gone.
std::vector<Seeded> seed_drift(FactTable& table, const FactBook& book, std::uint32_t values, std::uint64_t seed);

}  // namespace muster::trial
