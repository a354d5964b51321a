// Levels of a cluster's tree, from the inside out. Groups of a level lie within one group of the next; a level at which a site
// has nothing to tell apart (one pod, an NVLink domain that is the node) has groups all the same.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace muster {

enum class Level : std::uint8_t { node, domain, leaf, pod, core };
constexpr std::array<std::string_view, 5> names(Level) { return {"node", "domain", "leaf", "pod", "core"}; }
constexpr std::uint32_t kLevels = 5;

}  // namespace muster
