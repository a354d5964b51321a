// TOML text to a Value tree, as training frameworks' configurations need it: tables, arrays of tables, dotted keys, strings of
// all four kinds, numbers, true and false, arrays and inline tables. Dates are kept as text.
#pragma once
#include <string_view>

#include "base/result.h"
#include "base/value.h"

namespace muster {

constexpr std::size_t kTomlBytesMax = 1u << 20;
constexpr std::size_t kTomlDepthMax = 32;

// Members of tables come in the order of their names. Errors are "file:line: reason".
Result<Value> parse_toml(std::string_view text, std::string_view file);

}  // namespace muster
