// What changed in a network that is watched: a line for people, or an object a line for programs.
#pragma once
#include <string>
#include <string_view>

#include "base/time.h"
#include "design/fabric_hosts.h"
#include "design/fabric_watch.h"

namespace muster::report {

std::string render_fabric_change(const design::FabricChange& change, Time utc, bool colour);
std::string fabric_change_json(const design::FabricChange& change, Time utc);
// A reading that could not be taken, or can again (`why` is empty).
std::string render_fabric_unread(const std::string& why, Time utc);
std::string fabric_unread_json(const std::string& why, Time utc);
// All that stands, for whoever comes later.
std::string fabric_standing_json(const design::FabricWatch& watch, Time utc);
// The same for a controller, with the network's name, what flaps and the nodes that each fault touches: the body of POST
// /api/v1/intake (docs/health/agent.md). More than one takes is cut down to the surest, and says so. `every_s`: how often the
// network is read; 0: this once.
std::string fabric_told_json(const design::FabricWatch& watch, const design::FabricHosts& hosts, std::string_view name = {},
                             double every_s = 0);

}  // namespace muster::report
