// `ibnetdiscover`: what an InfiniBand fabric is made of, and which port is cabled to which. ibsim boots from the same files.
#pragma once
#include <string_view>

#include "base/result.h"
#include "model/fabric.h"

namespace muster {

constexpr std::size_t kIbNetNodesMax = 262'144;

// Each port of a channel adapter becomes an endpoint. A port that the two ends of a cable tell differently of is an error; one
// that only one end tells of (the other did not answer) is cabled.
Result<Fabric> parse_ib_net(std::string_view text, std::string_view file);

// The forwarding tables of all switches, as OpenSM dumps them (opensm-lfts.dump) and `dump_lfts.sh` and `ibroute` print them.
Result<ForwardingTables> parse_ib_routes(std::string_view text, std::string_view file);

}  // namespace muster
