// What `muster accept` leaves in the agent's folder for the controller: its word on each GPU that it tested.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/acceptance_word.h"

namespace muster::agent {

// Only who may write to the folder, root or the agent's own user, is believed: no user's program speaks through it. Nothing is
// said of whether an agent runs to take it.
Result<void> save_accept_word(const std::string& folder, const AcceptanceWord& word);

// The words since the last call, each as members of an item of the intake (docs/health/agent.md), until `take` says no. What is
// no such word is left out.
void take_accept_words(const std::string& folder, const std::function<bool(const std::string& members)>& take);

// {"acceptance":{...}} without the outer braces, on one line. Words that are too long are cut.
std::string render_accept_word(const AcceptanceWord& word);

}  // namespace muster::agent
