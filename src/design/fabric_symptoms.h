// What states of ports, error counters, the subnet manager's log and forwarding tables say is wrong with a fabric.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/fabric.h"
#include "model/fabric_fault.h"
#include "model/fabric_readings.h"
#include "predict/route_check.h"
#include "predict/traffic.h"

namespace muster::design {

struct FabricSymptoms {
  std::vector<FabricFault> faults;
  std::vector<std::string> notes;  // worth knowing, and no fault: congestion, one reading only, what the log complains of
};

// Links with fewer lanes than most of their kind, or slower than both their ends could be while most of their kind are not;
// against the design where there is one. What nearly all links have in common is not a link's fault. Ports of designed cables
// that are down are missing cables. Where most cables fall short of the design alike that is one fault, and none where `known`
// (what was found out otherwise) names one of them already.
FabricSymptoms link_symptoms(std::span<const PortState> ports, const Fabric* design, std::span<const FabricFault> known = {});

// Counters against what a sound link shows in that time; docs/fabric.md has the limits and where they come from. Without `before`
// only counters that stand at their maximum, and links that went down often, are faults: of the rest it is not known when they
// grew. `seconds` 0: not known, so any growth is told. The fabric names the other ends of cables and has their rates.
FabricSymptoms counter_symptoms(const CounterReading* before, const CounterReading& after, double seconds, const Fabric* fabric);

// For texts: "4.02", "86400".
std::string say_seconds(double seconds);

// To three places: what is worked out is not known better, and 0.72 reads as such.
double rounded_confidence(double confidence);

// Both ends of the cable at each port, as faults name them; the port alone where no cable is known.
std::vector<std::vector<std::string>> cable_ends(const Fabric& fabric, std::span<const PortEnd> ports);

// A routing engine that had to give way, devices with the same GUID, ports that come and go. `asked`: the engine that should
// route, where the log does not say; the fabric has the names of what the log knows by GUID.
FabricSymptoms log_symptoms(const SubnetLog& log, const Fabric* fabric, std::string_view asked = {});

// Ways that do not arrive, and tables that use one link many times as much as its equals while shifts suffer for it (`shifts`
// null: not measured). Circles in which links wait for each other are noted: whether they can deadlock depends on virtual lanes.
FabricSymptoms route_symptoms(const Fabric& fabric, const predict::RouteCheck& check, const predict::TrafficFigures* shifts);

}  // namespace muster::design
