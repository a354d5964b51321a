// The request target, taken apart: "/api/v1/nodes?state=down" -> path and query, decoded.
#pragma once
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::http {

struct Target {
  std::string path;
  std::map<std::string, std::string> query;  // of a repeated name the last one stands
};

// Refuses anything but "/..." with well-formed percent escapes that give valid UTF-8 without control characters.
Result<Target> parse_target(std::string_view target);

}  // namespace muster::http
