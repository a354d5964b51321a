// Site: what a cluster is made of and how it is wired. Read from the cluster file, fixed for the life of a journal; what changes
// (a swapped GPU, a node that is down) is State. Cables and pools come with it, but may differ with each start: they are not
// among its fields, and journaled by events of their own.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "model/cabling.h"

namespace muster {

struct NodeSpec {
  std::string name;            // hostname; untrusted text
  std::uint32_t rack = 0;      // index into Site::racks
  std::uint32_t leaf = 0;      // leaf switch (or rail group) index, dense from 0
  std::uint32_t pod = 0;       // group of leaves under the same spines, dense from 0
  std::uint32_t domain = 0;    // NVLink domain: the node itself on HGX machines, the rack on NVL72
  std::string gpu_model;       // empty: the site's
};

// Nodes that jobs may be bound to, a partition of Slurm for one; a node may be in several.
struct Pool {
  std::string name;
  std::vector<NodeId> nodes;  // ascending
  bool operator==(const Pool&) const = default;
};
constexpr std::size_t kPoolsMax = 64;

struct Site {
  std::string name;
  std::string gpu_model;               // "H200", a row of data/hardware.csv
  std::uint32_t gpus_per_node = 8;     // 1 to 16
  std::vector<std::string> gpu_pci;    // PCI address of each slot, "0000:1b:00"
  std::vector<std::string> racks;      // names
  std::uint32_t leaves = 0;
  std::uint32_t pods = 0;
  std::uint32_t domains = 0;
  double link_gbps = 400;              // one NIC per GPU
  double oversubscription = 1;         // of what NICs could send, over what the narrowest tier above their leaves carries
  double storage_write_gbs = 0;        // shared checkpoint store, GB/s in all
  double power_limit_kw = 0;           // whole site; 0: none
  std::vector<NodeSpec> nodes;
  std::vector<std::uint32_t> rack_row;  // row of each rack, dense from 0; empty: rows are not known
  double rack_kw = 0;                   // what one rack may draw; 0: no limit
  double row_kw = 0;                    // what one row may draw, and its cooling carry away; 0: no limit
  Cabling cables;                       // of the NICs, where the file tells of them
  std::vector<Pool> pools;              // at most kPoolsMax

  std::uint32_t gpus() const { return static_cast<std::uint32_t>(nodes.size()) * gpus_per_node; }
};

constexpr std::uint32_t kNoRow = UINT32_MAX;
inline std::uint32_t row_of(const Site& s, NodeId n) {
  return s.rack_row.empty() || n.v >= s.nodes.size() ? kNoRow : s.rack_row[s.nodes[n.v].rack];
}

template <class V>
void fields(V& v, NodeSpec& n) {
  v("name", n.name);
  v("rack", n.rack);
  v("leaf", n.leaf);
  v("pod", n.pod);
  v("domain", n.domain);
  v("gpu_model", n.gpu_model);
}

template <class V>
void fields(V& v, Pool& p) {
  v("name", p.name);
  v("nodes", p.nodes);
}

template <class V>
void fields(V& v, Site& s) {
  v("name", s.name);
  v("gpu_model", s.gpu_model);
  v("gpus_per_node", s.gpus_per_node);
  v("gpu_pci", s.gpu_pci);
  v("racks", s.racks);
  v("leaves", s.leaves);
  v("pods", s.pods);
  v("domains", s.domains);
  v("link_gbps", s.link_gbps);
  v("storage_write_gbs", s.storage_write_gbs);
  v("power_limit_kw", s.power_limit_kw);
  v("nodes", s.nodes);
  v("rack_row", s.rack_row);
  v("rack_kw", s.rack_kw);
  v("row_kw", s.row_kw);
}

}  // namespace muster
