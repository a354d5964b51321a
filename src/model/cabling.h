// Cabling: where the cable of each NIC goes, so that a finding about a link can say where to walk to. Known only where the
// cluster file tells of it. It is large, hardly ever changes and is no part of what a site is (a cable is replaced, the site
// stays), while the state is copied many times a second: copies share it.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace muster {

// By columns, one entry per cable, in the order of the NICs: in a journal a cable then takes about 30 bytes.
struct CableTable {
  std::vector<std::string> switches;    // names, each once; untrusted, as the ports and the labels
  std::vector<std::uint32_t> nics;      // node * kNicsMax + slot, ascending
  std::vector<std::uint32_t> far_ends;  // index into switches
  std::vector<std::string> ports;       // of the switch, as the site calls them: "17", "1/17/2"
  std::vector<std::string> labels;      // of the cable; empty: not known
  bool operator==(const CableTable&) const = default;
};

struct Cable {
  std::uint32_t to = 0;  // the switch, as an index
  std::string_view switch_name, port, label;
};

class Cabling {
 public:
  static constexpr std::uint32_t kNicsMax = 16;  // in a node, as many as GPUs

  const CableTable& table() const {
    static const CableTable kNothing;
    return table_ ? *table_ : kNothing;
  }
  bool empty() const { return table().nics.empty(); }
  std::optional<Cable> at(NodeId node, std::int16_t slot) const;
  // What does not fit together (a journal that was tampered with) is no cabling.
  void set(CableTable table);
  bool operator==(const Cabling& other) const { return table_ == other.table_ || table() == other.table(); }

 private:
  std::shared_ptr<const CableTable> table_;
};

// What NICs are called: one device per port and slot, as mlx5 has it.
std::string nic_name(std::int16_t slot);
// ", cable C-00412 to port 17 of leaf03"; empty where no switch is known.
std::string say_far_end(std::string_view switch_name, std::string_view port, std::string_view label);

template <class V>
void fields(V& v, Cabling& c) {
  CableTable t = c.table();
  v("switches", t.switches);
  v("nics", t.nics);
  v("far_ends", t.far_ends);
  v("ports", t.ports);
  v("labels", t.labels);
  if (!t.nics.empty()) c.set(std::move(t));
}

}  // namespace muster
