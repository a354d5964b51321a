// LLDP: which port of an Ethernet network is cabled to which, by what `lldpctl` and `lldpcli show neighbors` print on its hosts
// and switches.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/fabric.h"

namespace muster {

constexpr std::size_t kLldpNeighboursMax = 1U << 20;

// One cable as the device at one of its ends tells of it. Names are untrusted.
struct LldpNeighbour {
  std::string host, port;          // who tells
  std::string far_name, far_port;  // whom it hears; a chassis without a name has its id
  std::string far_id;              // of the chassis: "44:38:39:00:00:11"
  std::string far_description;     // its operating system
  bool far_forwards = false;       // it says that it is a bridge or a router
  double gbit_s = 0;               // as negotiated; 0: not told
};

// Takes the forms json, json0, keyvalue and plain. Who tells is not in them: `host`, or a prefix "host: " before each line (as
// pdsh and clush put it; keyvalue and plain), or an object of hosts around theirs (JSON), which comes first where there is one.
Result<std::vector<LldpNeighbour>> parse_lldp(std::string_view text, std::string_view file, std::string_view host = {});

// Whether a text is such, and not what ibnetdiscover prints.
bool looks_like_lldp(std::string_view text);

// Each port of a host is an endpoint, "gpu0063 eth2", and has a cable of `gb_s` where the rate is not told. A device forwards
// that says so or whose operating system is a switch's; hosts that bridge for their containers are told apart by theirs. A
// switch's port is the number in its name: 17 of "swp17", "Ethernet1/17" and Arista's "Ethernet17/1"; of a port that was split,
// "swp17s1", it is 1701. A device that announces its full name has the one it was asked under, where it was asked: "leaf01".
Result<Fabric> lldp_fabric(std::span<const LldpNeighbour> neighbours, double gb_s);

}  // namespace muster
