// What differs between two nodes, layer by layer.
#pragma once
#include <cstdint>
#include <string>

#include "model/fact_table.h"

namespace muster::report {

struct NodesView {
  const FactTable& table;
  const FactBook& book;
  std::size_t a = 0, b = 0;  // places of the nodes
  bool all = false;          // what is the same too
};

// Identities are left out: they always differ. What is known of one node alone is told, and is no difference.
std::string render_nodes(const NodesView& view, bool colour);
std::string nodes_json(const NodesView& view);

}  // namespace muster::report
