// Lists of nodes as clusters write them: "node[001-064,070]" for 65 names, "rack[1-2]n[01-18],login1" for 37.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster {

constexpr std::size_t kNodeListMax = 1'048'576;  // names in one list: a slip of the finger must not fill the memory

// Names in the order written. Leading zeros give the width. Errors name the piece that is wrong.
Result<std::vector<std::string>> expand_node_list(std::string_view text, std::size_t max = kNodeListMax);

// The shortest such text for a set of names: sorted, duplicates once, last number of each name folded into ranges.
std::string compress_node_list(std::vector<std::string> names);

// "node9" before "node10": digits compare as numbers, the rest as bytes.
bool natural_less(std::string_view a, std::string_view b);

}  // namespace muster
