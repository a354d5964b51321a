// What muster fleet inventory shows: nodes in a line each, all their facts, who is alike in which layer, who a boot would change.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "model/fact_table.h"
#include "report/format.h"

namespace muster::cmd {

using NodeTroubles = std::vector<std::pair<std::string, std::string>>;  // node, and why it did not answer

std::string show_inventory(const FactTable& table, const NodeTroubles& failed, report::Format format);
std::string show_fingerprints(const FactTable& table, report::Format format);

struct ShownBoot {
  std::string text;
  std::size_t changed = 0;   // nodes that another boot would change
  std::size_t compared = 0;  // facts of all nodes that both sides know
  std::string missing;       // a node that `next` does not have, where it has several; empty: none
};
ShownBoot show_boot_changes(const FactTable& table, const FactTable& next, report::Format format);

}  // namespace muster::cmd
