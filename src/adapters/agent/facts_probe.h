// What the node is and runs, as the agent gives it to whoever asks.
#pragma once
#include <string>

namespace muster::agent {

// A line of docs/formats/facts.md; empty: nothing could be read. `root` stands for / in tests.
std::string ask_facts(const std::string& node, const std::string& root = {});

}  // namespace muster::agent
