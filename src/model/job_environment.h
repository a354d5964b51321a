// What the facts of a JobDescribed are called, by those who tell them, keep them and compare them (docs/fleet/runs.md).
#pragma once
#include <string_view>

namespace muster {

// The only fact of a node on which everything is as it is on another node of that attempt, which this names: a job of a thousand
// nodes is told in full once.
constexpr std::string_view kSameAsNode = "same_as_node";

constexpr std::string_view kVariablePrefix = "env.";  // and a variable's name
constexpr std::string_view kConfigFilePrefix =
    "config.file.";                                 // and a file's name: its value is what the file's content hashes to
constexpr std::string_view kUnseenFact = "unseen";  // why libraries and variables are not known

}  // namespace muster
