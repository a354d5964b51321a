// A network as it was designed against the network that was found: the fewest faults that explain the difference.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/fabric.h"
#include "model/fabric_fault.h"
#include "model/fabric_readings.h"
#include "model/fabric_survey.h"

namespace muster::design {

struct FabricComparison {
  bool complete = true;  // false: what is not there may only not have answered
  std::vector<FabricFault> faults;
  std::uint32_t devices_wanted = 0, devices_found = 0;  // switches and ports of network cards
  std::uint32_t cables_wanted = 0, cables_found = 0, cables_as_wanted = 0;
  std::uint32_t known_by_name = 0, known_by_place = 0;  // devices whose guid is not the design's
  std::vector<std::string> notes;                       // names that differ, what was left out: no faults
};

// What a network is held against, for the words: a design, or what the rest of the network suggests.
enum class Standard : std::uint8_t { design, the_rest };

// Each difference is explained once, by the largest thing that explains it.
// - dead_switch, dead_host: it does not answer and none of its cables is there; what is only behind it is not mentioned again.
// - swapped_cables: two or more whose far ends changed places, all their ends named. Where that puts a network card on a leaf of
//   another rail it is wrong_rail, with the same ends.
// - extra_cable with three ends: one plug of a cable is elsewhere than in the design; wrong_rail where it is another rail's.
// - missing_cable: both ports are empty. A node with a single network card that is gone is such: its cable or itself.
// Where the survey has marks of lost answers, what is missing beside the marked devices goes into one incomplete_discovery.
// Two switches, or two hosts, with all their cables in each other's place are one swapped_cables, with both their names first.
// Ports of switches for aggregation (SHARP) are left out unless the design has them.
// `ports`, where it is known (iblinkinfo): a port that is up though nobody answers behind it has a silent neighbour, no dead one.
FabricComparison compare_fabrics(const Fabric& design, const FabricSurvey& found, std::span<const PortState> ports = {},
                                 Standard against = Standard::design);

// "leaf03[17]"; with the guid where a name is borne by several.
class EndNames {
 public:
  explicit EndNames(const Fabric& fabric);
  std::string device(std::uint32_t node) const;
  std::string end(std::uint32_t node, std::size_t port) const;

 private:
  const Fabric& fabric_;
  std::vector<bool> ambiguous_;
};

// The rail of each switch that network cards are cabled to: the number of the card in its node. -1: none; empty: no rails.
std::vector<int> rails_of(const Fabric& fabric);

// "4xHDR"; "25 GB/s" where the lanes are not told.
std::string say_rate(double gb_s, unsigned lanes);

}  // namespace muster::design
