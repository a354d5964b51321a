// Values that hold by declaration, as YAML: docs/formats/fleet_declared.md.
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/declaration.h"

namespace muster {

// An error names file, line and what would be right.
Result<Declarations> read_declared(std::string_view text, const std::string& file);

}  // namespace muster
