// How a fact of a node is brought to another value, and what that takes: data/fleet/remedies.csv.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "model/fields.h"

namespace muster {

enum class RemedyBy : std::uint8_t {
  sysctl,         // target: the parameter
  kernel_arg,     // target: the argument
  module_option,  // target: "module option"
  sysfs,          // target: the path; may hold *
  package,        // target: its name for apt, then for dnf where that is another
  service,        // target: the unit
  unit_setting,   // target: the setting; the unit is the one whose value was read
  conf_line,      // target: "file key"
  mount_option,   // target: "place option"
  link_mtu,       // of the interface that is the entity
  redfish,        // target: what the controller's inventory calls it
  follows,        // target: the fact with which it moves
  hand            // target: what a person does
};
constexpr std::array<std::string_view, 13> names(RemedyBy) {
  return {"sysctl",    "kernel_arg",   "module_option", "sysfs",   "package", "service", "unit_setting",
          "conf_line", "mount_option", "link_mtu",      "redfish", "follows", "hand"};
}
// What the node goes through, the least first.
enum class RemedyTakes : std::uint8_t { live, restart, reboot };
constexpr std::array<std::string_view, 3> names(RemedyTakes) { return {"live", "restart", "reboot"}; }

struct Remedy {
  std::string key;  // of the fact; "sysctl.*": of all that begin so, target "*" is what the star stands for
  RemedyBy by = RemedyBy::hand;
  std::string target;
  RemedyTakes takes = RemedyTakes::live;
  std::string restarts;  // the unit that has to be started again; empty: none
  std::string source;
};

struct RemedyBook {
  std::vector<Remedy> rows;
  // The row of the key itself before one with a star. Null: nobody has said how.
  const Remedy* find(std::string_view key) const {
    const Remedy* found = nullptr;
    for (const Remedy& r : rows) {
      if (r.key == key) return &r;
      if (r.key.ends_with('*') && key.starts_with(std::string_view(r.key).substr(0, r.key.size() - 1))) found = &r;
    }
    return found;
  }
};

}  // namespace muster
