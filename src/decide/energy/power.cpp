#include "decide/energy/power.h"

#include <algorithm>

#include "base/check.h"

namespace muster::decide {

PowerBudget::PowerBudget(const Site& site, double node_busy_w, double node_idle_w)
    : busy_w_(node_busy_w),
      idle_w_(node_idle_w),
      site_cap_w_(site.power_limit_kw * 1000),
      nodes_(site.nodes.size()),
      racks_(site.racks.size()) {
  MUSTER_CHECK(busy_w_ > idle_w_ && idle_w_ >= 0);
  // Without rows every rack is a row by itself, and only its own cap counts.
  const bool known = !site.rack_row.empty();
  for (std::uint32_t r = 0; r < racks_.size(); ++r) {
    racks_[r].row = known ? site.rack_row[r] : r;
    racks_[r].cap_w = site.rack_kw * 1000;
    if (racks_[r].row >= rows_.size()) rows_.resize(racks_[r].row + 1);
    rows_[racks_[r].row].racks.push_back(r);
    rows_[racks_[r].row].cap_w = known ? site.row_kw * 1000 : 0;
  }
  for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
    nodes_[n].rack = site.nodes[n].rack;
    racks_[nodes_[n].rack].nodes.push_back(n);
  }
  settle_all();
}

void PowerBudget::set_busy(NodeId n, bool busy) {
  Node& x = nodes_[n.v];
  if (x.busy == busy) return;
  x.busy = busy;
  Rack& rack = racks_[x.rack];
  rack.busy += busy ? 1U : -1U;
  rows_[rack.row].dirty = true;
}

void PowerBudget::set_usable(NodeId n, bool usable) {
  if (nodes_[n.v].usable == usable) return;
  nodes_[n.v].usable = usable;
  rows_[racks_[nodes_[n.v].rack].row].dirty = true;
}

void PowerBudget::set_rack_cap(std::uint32_t rack, double watts) {
  racks_[rack].cap_w = watts;
  rows_[racks_[rack].row].dirty = true;
}

void PowerBudget::set_row_cap(std::uint32_t row, double watts) {
  rows_[row].cap_w = watts;
  rows_[row].dirty = true;
}

double PowerBudget::rack_draw_w(std::uint32_t rack) const {
  const Rack& r = racks_[rack];
  return r.busy * busy_w_ + static_cast<double>(r.nodes.size() - r.busy) * idle_w_;
}

double PowerBudget::row_draw_w(std::uint32_t row) const {
  double sum = 0;
  for (const std::uint32_t r : rows_[row].racks) sum += rack_draw_w(r);
  return sum;
}

double PowerBudget::site_draw_w() const {
  double sum = 0;
  for (std::uint32_t r = 0; r < racks_.size(); ++r) sum += rack_draw_w(r);
  return sum;
}

std::uint32_t PowerBudget::room(double cap_w, double draw_w) const {
  if (cap_w <= 0) return UINT32_MAX;
  constexpr double kGrain = 1e-6;  // of a node: sums of watts round
  const double nodes = (cap_w - draw_w) / (busy_w_ - idle_w_) + kGrain;
  return nodes <= 0 ? 0 : nodes >= 1e9 ? UINT32_MAX : static_cast<std::uint32_t>(nodes);
}

void PowerBudget::settle(Row& row, std::uint32_t& site_room) {
  const std::uint32_t most = std::min(site_room, room(row.cap_w, row_draw_w(racks_[row.racks.front()].row)));
  std::uint32_t row_room = most;
  for (const std::uint32_t r : row.racks) {
    std::uint32_t left = std::min(row_room, room(racks_[r].cap_w, rack_draw_w(r)));
    std::uint32_t opened = 0;
    for (const std::uint32_t n : racks_[r].nodes) {
      Node& x = nodes_[n];
      // A busy node draws all it can already: more work on its other GPUs costs nothing more.
      x.open = x.usable && (x.busy || opened < left);
      if (x.open && !x.busy) ++opened;
    }
    if (row_room != UINT32_MAX) row_room -= opened;
  }
  if (site_room != UINT32_MAX) site_room -= most - row_room;
  row.dirty = false;
}

// What one row leaves of the site's watts, the next ones have: with a limit of the site any change settles them all.
void PowerBudget::settle_all() {
  const bool changed = std::any_of(rows_.begin(), rows_.end(), [](const Row& r) { return r.dirty && !r.racks.empty(); });
  if (!changed) return;
  std::uint32_t site_room = room(site_cap_w_, site_draw_w());
  for (Row& row : rows_) {
    if (!row.racks.empty() && (row.dirty || site_cap_w_ > 0)) settle(row, site_room);
  }
}

void PowerBudget::apply(Tree& tree) {
  settle_all();
  for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
    Node& x = nodes_[n];
    if (x.open == x.told) continue;
    x.told = x.open;
    if (x.open) {
      tree.open(NodeId{n});
    } else {
      tree.close(NodeId{n});
    }
  }
}

}  // namespace muster::decide
