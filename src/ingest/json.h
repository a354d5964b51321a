// JSON text to a Value tree.
#pragma once
#include <string_view>

#include "base/result.h"
#include "base/value.h"

namespace muster {

// The whole text must be one JSON value. Duplicate keys, invalid UTF-8 and nesting beyond `max_depth` are refused;
// errors name the byte: "byte 17: ...". Whole numbers beyond 64 bits become doubles.
Result<Value> parse_json(std::string_view text, int max_depth = 64);

}  // namespace muster
