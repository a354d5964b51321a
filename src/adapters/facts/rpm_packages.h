// rpm's database of installed packages, read without rpm and without leaving a trace: nothing is locked, created or changed.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/facts/host.h"
#include "ingest/rpm_header.h"

namespace muster::facts {

struct RpmPackages {
  std::string database;  // "rpm sqlite", "rpm ndb", "rpm bdb"; empty: there is none
  bool read = false;     // false: it is of a kind that is not read, is damaged, or is being changed
  std::vector<RpmPackage> found;
};

// Those whose name is one of `names`, or begins with one and for which `wanted` holds; of each name the one installed last comes
// first.
RpmPackages read_rpm_packages(const Host& host, const std::vector<std::string_view>& names,
                              const std::function<bool(std::string_view)>& wanted);

}  // namespace muster::facts
