// Words left in the agent's folder by other programs on the node, for the agent to take: a line each.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::agent {

// Adds a line to FOLDER/NAME, if the file does not grow beyond `bytes_most` by it: nobody may run there to take it. Whoever
// writes as root leaves it to the folder's owner, or the agent could not read it.
Result<void> leave_word(const std::string& folder, const std::string& name, std::string_view line, std::size_t bytes_most);

// Hands all lines to `take`, in the order in which they came, until it says no: the rest stays for the next time. A line is
// handed again after a kill in between.
void take_words(const std::string& folder, const std::string& name, const std::function<bool(std::string_view)>& take);

}  // namespace muster::agent
