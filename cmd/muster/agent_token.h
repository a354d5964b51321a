// What lets a program on a node, or beside the network, hand things in to a controller; and where no token may go.
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::cmd {

// "http://HOST..." of another machine than this one. Only an address of the loopback, or "localhost" itself, is this one's: a
// name that begins like it may be anybody's.
bool crosses_network_in_clear(std::string_view url);
// The agents' token, from the file or, where none is named, from $MUSTER_TOKEN (empty: there is none). Refused where it would
// cross a network in the clear on its way to `controller` ("http(s)://HOST:PORT", "unix:PATH", or empty).
Result<std::string> agent_token_for(const std::string& controller, const std::string& token_file);

}  // namespace muster::cmd
