// Rows of a recording of acceptance, spelled exactly as encode_row spells them, read without a tree: a report of a fleet reads a
// million of them. Whatever is spelled otherwise is left to parse_json and decode_row, which know all spellings and all errors.
#pragma once
#include <optional>
#include <string_view>

#include "model/acceptance.h"

namespace muster {

// What parse_json and decode_row would make of the line. Nothing where it is not plain: that says nothing against it.
std::optional<accepting::Row> parse_plain_row(std::string_view line);

}  // namespace muster
