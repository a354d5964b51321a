// Fingerprints: by layer, which nodes are alike in all that is known of them; and what the next boot of a node would change.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "model/fact_table.h"

namespace muster::fleet {

// Nodes with the same facts of one layer: same keys known, same values.
struct Alike {
  std::uint64_t print = 0;           // XXH64 over names and values in their order; the same on every machine
  std::vector<std::uint32_t> nodes;  // ascending
};

struct LayerPrints {
  FactLayer layer = FactLayer::kernel;
  std::size_t facts = 0;      // columns of it
  std::vector<Alike> groups;  // most nodes first
};

// Of each layer that any node has facts of, but for identity and state. What is unreadable or unknown is no part of a print.
std::vector<LayerPrints> fingerprints_of(const FactTable& table, const FactBook& book);

// A fact that would be another one after a boot.
struct BootChange {
  std::string fact;  // "gpu0:vbios.version"
  FactLayer layer = FactLayer::kernel;
  std::string now, then;  // empty: absent
};

struct BootChanges {
  std::vector<BootChange> changes;  // by layer, then fact
  std::size_t same = 0;             // compared, and the same
  std::size_t unknown = 0;          // facts of the node about which `next` says nothing
};

// `next_node` of `next` is what boots: a probe of an image (its newest kernel and the driver on its disk are what will run), or
// of a node that has booted it.
BootChanges boot_changes(const FactTable& now, std::size_t node, const FactTable& next, std::size_t next_node,
                         const FactBook& book);

}  // namespace muster::fleet
