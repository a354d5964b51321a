// Installed packages, from dpkg's or rpm's own file: no program is run for it.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/facts/host.h"
#include "adapters/facts/sheet.h"

namespace muster::facts {

struct Package {
  std::string name, version;  // without epoch and revision: "5:27.3.1-1~ubuntu" is 27.3.1
  bool held = false;
};

enum class PackageBase { dpkg, rpm, none };

struct Packages {
  PackageBase base = PackageBase::none;
  std::string database;        // "dpkg", "rpm sqlite", "rpm ndb", "rpm bdb"; empty: none
  bool read = false;           // what is not among them is not installed
  std::vector<Package> found;  // of those that anybody asks about, installed; in the order of the file
  // Null: not installed.
  const Package* find(std::string_view name) const;
  // The first whose name is this, or this and "-" and digits: nvidia-fabricmanager-580.
  const Package* numbered(std::string_view name) const;
};

// Packages of `wanted` names (and their numbered kin) in the text of /var/lib/dpkg/status.
std::vector<Package> parse_dpkg_status(std::string_view text);
Packages read_packages(const Host& host);
// All facts that are versions of packages.
void probe_packages(const Host& host, const Packages& packages, Sheet& sheet);

}  // namespace muster::facts
