// Where a running controller's page is, left in its state directory for `muster login`.
#pragma once
#include <string>

namespace muster::cmd {

// Best effort: without it only `muster login` knows less.
void leave_address(const std::string& state, const std::string& url);
std::string find_address(const std::string& state);  // empty: none

}  // namespace muster::cmd
