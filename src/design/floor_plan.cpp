#include "design/floor_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace muster::design {
namespace {

constexpr double kUnitM = 0.0445, kRackPitchM = 0.6, kRowPitchM = 3.0;
constexpr double kTrayM = 0.3;             // from the top of a rack
constexpr double kSlackM = 0.5;            // at one end
constexpr std::uint32_t kSwitchUnits = 2;  // with the panel that its cables go through
constexpr std::uint32_t kFirstSwitchUnit = 5;

std::uint32_t divide_up(std::uint32_t a, std::uint32_t b) { return (a + b - 1) / b; }

// Which racks of nodes a switch has cables to, counted without rows; first > last: none.
struct Reach {
  std::uint32_t first = UINT32_MAX, last = 0;
  std::uint32_t middle() const { return first + (last - first) / 2; }
};

class Layout {
 public:
  Layout(const Fabric& f, std::span<const std::uint8_t> tiers, std::uint32_t nics, const FloorAsk& ask)
      : f_(f), tiers_(tiers), nics_(nics), a_(ask) {
    for (const std::uint8_t t : tiers_) endpoints_ += t == 0 ? 1 : 0;
    node_racks_ = std::max(1U, divide_up(divide_up(endpoints_, nics_), a_.nodes_per_rack));
    place_leaves();
    choose_rows();
  }

  FloorPlan plan() {
    FloorPlan out;
    out.spots.resize(f_.nodes.size());
    std::vector<std::uint32_t> in_row(leaves_in_row_.size(), 0);
    std::uint32_t above = 0;
    for (std::uint32_t i = 0; i < f_.nodes.size(); ++i) {
      if (tiers_[i] == 0) {
        const std::uint32_t node = i / nics_;
        out.spots[i] = of_rack(node / a_.nodes_per_rack, 1 + node % a_.nodes_per_rack * a_.node_units);
      } else if (on_top_[i] > 0) {
        out.spots[i] = of_rack(reach_[i].first, a_.nodes_per_rack * a_.node_units + on_top_[i]);
      } else if (tiers_[i] == 1) {
        const std::uint32_t row = reach_[i].middle() / per_row_;
        out.spots[i] = in_network_rack(shifted(row), per_row_ / 2, in_row[row]++);
      } else if (one_row_) {
        out.spots[i] = in_network_rack(0, per_row_ / 2 + network_racks(0), above++);
      } else {
        const std::uint32_t rack = above / a_.switches_per_rack;
        out.spots[i] =
            in_network_rack(middle_row_ + rack / a_.racks_per_row, 0, above++ % (a_.switches_per_rack * a_.racks_per_row));
      }
    }
    std::uint32_t leaf_racks = 0;
    for (std::uint32_t r = 0; r < leaves_in_row_.size(); ++r) leaf_racks += network_racks(r);
    out.racks = node_racks_ + leaf_racks + divide_up(above_, a_.switches_per_rack);
    out.rows = rows_ + rows_above_;
    return out;
  }

 private:
  void place_leaves() {
    reach_.resize(f_.nodes.size());
    on_top_.resize(f_.nodes.size(), 0);
    const std::uint32_t room = kRackUnits - std::min(kRackUnits, a_.nodes_per_rack * a_.node_units);
    std::vector<std::uint32_t> taken(node_racks_, 0);
    Reach before{0, 0};
    for (std::uint32_t i = 0; i < f_.nodes.size(); ++i) {
      if (tiers_[i] == 0) continue;
      if (tiers_[i] > 1) {
        ++above_;
        continue;
      }
      Reach& r = reach_[i];
      for (const std::uint32_t l : f_.nodes[i].out) {
        if (l == Fabric::kNoLink || tiers_[f_.links[l].to] != 0) continue;
        const std::uint32_t rack = f_.links[l].to / nics_ / a_.nodes_per_rack;
        r.first = std::min(r.first, rack);
        r.last = std::max(r.last, rack);
      }
      if (r.first > r.last) {
        r = before;  // a switch of a group that has no endpoints yet: beside the others
      } else if (r.first == r.last && taken[r.first] < room) {
        on_top_[i] = ++taken[r.first];
      }
      before = r;
      leaves_apart_ += on_top_[i] == 0 ? 1 : 0;
    }
  }

  // As many racks of nodes in a row as leave room for the racks of their leaves.
  void choose_rows() {
    const std::uint32_t all =
        node_racks_ + divide_up(leaves_apart_, a_.switches_per_rack) + divide_up(above_, a_.switches_per_rack);
    one_row_ = all <= a_.racks_per_row;
    per_row_ = node_racks_;
    if (!one_row_) {
      const auto leaves_of = [&](std::uint32_t racks) {
        const std::uint64_t n = static_cast<std::uint64_t>(leaves_apart_) * racks / node_racks_;
        return divide_up(static_cast<std::uint32_t>(n), a_.switches_per_rack);
      };
      per_row_ = std::min(node_racks_, std::max(1U, a_.racks_per_row));
      while (per_row_ > 1 && per_row_ + leaves_of(per_row_) > a_.racks_per_row) --per_row_;
    }
    rows_ = divide_up(node_racks_, per_row_);
    leaves_in_row_.resize(rows_, 0);
    for (std::uint32_t i = 0; i < f_.nodes.size(); ++i) {
      if (tiers_[i] == 1 && on_top_[i] == 0) ++leaves_in_row_[reach_[i].middle() / per_row_];
    }
    middle_row_ = rows_ / 2;
    rows_above_ = one_row_ ? 0 : divide_up(divide_up(above_, a_.switches_per_rack), std::max(1U, a_.racks_per_row));
  }

  std::uint32_t network_racks(std::uint32_t row) const { return divide_up(leaves_in_row_[row], a_.switches_per_rack); }
  // Rows of nodes make way in the middle for the rows of the switches above all.
  std::uint32_t shifted(std::uint32_t row) const { return row < middle_row_ ? row : row + rows_above_; }

  Spot of_rack(std::uint32_t rack, std::uint32_t unit) const {
    const std::uint32_t row = rack / per_row_, at = rack % per_row_;
    std::uint32_t before = at < per_row_ / 2 ? 0 : network_racks(row);
    if (one_row_ && at >= per_row_ / 2) before += divide_up(above_, a_.switches_per_rack);
    return {shifted(row), at + before, unit};
  }
  Spot in_network_rack(std::uint32_t row, std::uint32_t first, std::uint32_t number) const {
    return {row, first + number / a_.switches_per_rack, kFirstSwitchUnit + number % a_.switches_per_rack * kSwitchUnits};
  }

  const Fabric& f_;
  std::span<const std::uint8_t> tiers_;
  std::uint32_t nics_;
  const FloorAsk& a_;
  std::uint32_t endpoints_ = 0, node_racks_ = 0, above_ = 0, leaves_apart_ = 0;
  std::vector<Reach> reach_;
  std::vector<std::uint32_t> on_top_;  // of its nodes' rack: which one it is there, from 1; 0: it is not
  std::uint32_t per_row_ = 1, rows_ = 1, rows_above_ = 0, middle_row_ = 0;
  bool one_row_ = false;
  std::vector<std::uint32_t> leaves_in_row_;
};

double sold(double m) {
  for (const double length : {0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0, 50.0}) {
    if (m <= length) return length;
  }
  return std::ceil(m / 10) * 10;
}

double apart(std::uint32_t a, std::uint32_t b) { return a < b ? b - a : a - b; }

}  // namespace

FloorPlan lay_out(const Fabric& fabric, std::span<const std::uint8_t> tiers, std::uint32_t nics, const FloorAsk& ask) {
  return Layout(fabric, tiers, nics, ask).plan();
}

double cable_length_m(const Spot& a, const Spot& b) {
  if (a.row == b.row && a.rack == b.rack) return sold(kSlackM + apart(a.unit, b.unit) * kUnitM);
  const auto up = [](const Spot& s) { return (kRackUnits - std::min(kRackUnits, s.unit)) * kUnitM + kTrayM + kSlackM; };
  return sold(up(a) + up(b) + apart(a.rack, b.rack) * kRackPitchM + apart(a.row, b.row) * kRowPitchM);
}

std::string rack_name(const Spot& spot) { return fmt::format("row{:02}-rack{:02}", spot.row + 1, spot.rack + 1); }

}  // namespace muster::design
