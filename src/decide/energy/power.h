// Power caps of racks, rows and the whole site as resources: of the free nodes only as many are left open to placement as could
// all turn busy without a cap being passed. So every choice the tree can make is within the caps, whatever it chooses: nothing
// has to be checked afterwards, and nothing is ever taken back.
//
// The invariant. A rack draws idle_w for each node at rest and busy_w for each that works. Let it have b busy nodes, n in all,
// and f free ones left open: then b * busy + (n - b) * idle + f * (busy - idle) <= cap, and likewise for the row, summed over
// its racks, and for the site. Taking any subset of the open nodes, in any order, keeps the left side as it is or makes it
// smaller.
#pragma once
#include <cstdint>
#include <vector>

#include "decide/place/tree.h"
#include "model/site.h"

namespace muster::decide {

constexpr double kIdlePower = 0.25;  // of its busy power, drawn by a node at rest
inline bool power_capped(const Site& s) { return s.power_limit_kw > 0 || s.rack_kw > 0 || s.row_kw > 0; }

class PowerBudget {
 public:
  // Watts of one node, busy and at rest. Caps are the site's; without rows only racks are capped.
  PowerBudget(const Site& site, double node_busy_w, double node_idle_w);

  // A node is busy from its first GPU taken to its last one given back; one that is not usable (drained, down) is never opened,
  // and draws as if at rest.
  void set_busy(NodeId n, bool busy);
  void set_usable(NodeId n, bool usable);
  // A cap lowered or raised, for a rack or a row: heat, a failed feed, a demand response. Zero: none. What already runs stays.
  void set_rack_cap(std::uint32_t rack, double watts);
  void set_row_cap(std::uint32_t row, double watts);

  // Opens and closes the nodes of `tree` whose state has changed since the last call.
  void apply(Tree& tree);
  // Whether placement may use the node, as of now.
  bool open(NodeId n) const { return nodes_[n.v].open; }

  double busy_w() const { return busy_w_; }
  double rack_draw_w(std::uint32_t rack) const;
  double row_draw_w(std::uint32_t row) const;
  double site_draw_w() const;

 private:
  struct Node {
    std::uint32_t rack = 0;
    bool busy = false;
    bool usable = true;
    bool open = true;
    bool told = true;  // what the tree was last told
  };
  struct Rack {
    std::uint32_t row = 0;
    std::vector<std::uint32_t> nodes;
    double cap_w = 0;
    std::uint32_t busy = 0;
  };
  struct Row {
    std::vector<std::uint32_t> racks;
    double cap_w = 0;
    bool dirty = true;
  };
  std::uint32_t room(double cap_w, double draw_w) const;  // nodes that may turn busy
  void settle(Row& row, std::uint32_t& site_room);
  void settle_all();

  double busy_w_;
  double idle_w_;
  double site_cap_w_;
  std::vector<Node> nodes_;
  std::vector<Rack> racks_;
  std::vector<Row> rows_;
};

}  // namespace muster::decide
