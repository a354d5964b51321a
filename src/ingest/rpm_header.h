// The header of an installed package, as rpm keeps it in its database: an index of tags, and a store with their values.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

struct RpmPackage {
  std::string name, version, release, arch;  // printable ASCII without blanks; release and arch may be empty
  std::optional<std::uint32_t> epoch;
};

constexpr std::size_t kRpmWordMax = 256;  // bytes of a name or version

// Only these tags are looked at; what stands in the others may be anything. A name and a version must be there.
Result<RpmPackage> parse_rpm_header(std::string_view blob);

}  // namespace muster
