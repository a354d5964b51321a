// YAML text to a Value tree whose pieces know their lines.
#pragma once
#include <string_view>

#include "base/result.h"
#include "base/value.h"

namespace muster {

constexpr std::size_t kYamlBytesMax = 16u << 20;
constexpr std::size_t kYamlDepthMax = 32;
constexpr std::size_t kYamlNodesMax = 1'000'000;

// One document. Scalars follow YAML 1.2's core schema (true/false, null, numbers; everything else and everything quoted
// is text). Anchors, aliases and tags are refused: nothing Muster reads needs them, and they are how small files become
// huge. Errors are "file:line: reason".
Result<Value> parse_yaml(std::string_view text, std::string_view file);

}  // namespace muster
