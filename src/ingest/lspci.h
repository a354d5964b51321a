// `lspci -vvv`, whole or what `grep ACSCtl` leaves of it: which ports redirect what goes between devices (ACS), and links that
// run narrower or slower than they can.
#pragma once
#include <string_view>
#include <vector>

#include "model/node_wiring.h"

namespace muster {

constexpr std::size_t kPciPortsMax = 4096;  // read; the rest is left out

bool looks_like_lspci(std::string_view text);
std::vector<PciPort> parse_lspci(std::string_view text, std::string_view file);

}  // namespace muster
