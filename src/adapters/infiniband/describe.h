// What was found of a fabric, in the words of files.
#pragma once
#include <string>
#include <vector>

#include "adapters/infiniband/library.h"
#include "model/fabric_readings.h"

namespace muster::infiniband {

// What `ibnetdiscover` would print, but the time.
std::string render_net(const NetFabric& fabric);
// Every port, as of `iblinkinfo`.
std::vector<PortState> port_states(const NetFabric& fabric);

// The address that a port answers under; 0: it has none.
unsigned lid_of(const NetPort& port);
PortEnd end_of(const NetPort& port);

}  // namespace muster::infiniband
