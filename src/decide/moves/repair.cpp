#include "decide/moves/repair.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "decide/moves/spots.h"

namespace muster::decide {
namespace {

std::uint32_t bits(std::uint32_t mask) { return static_cast<std::uint32_t>(std::popcount(mask)); }

// How many pieces each domain is to take, and what that means.
struct Split {
  std::map<std::uint32_t, std::uint32_t> pieces;  // by domain
  std::uint32_t leaves = 0;                       // of the gang afterwards
  std::uint32_t leaves_min = 0;
};

class Repairer {
 public:
  Repairer(const Tree& tree, const Layout& layout, const Gang& gang, std::span<const NodeId> failed)
      : tree_(tree), layout_(layout), gang_(gang), failed_(failed.begin(), failed.end()) {}

  Repair plan();

 private:
  std::uint32_t piece(NodeId n) const { return gang_.shape.gpus == 0 ? layout_.nodes[n.v].gpus : gang_.shape.gpus; }
  std::uint32_t segment() const { return std::max(gang_.shape.segment, 1U); }
  void count();
  std::set<NodeId> not_beside_survivors() const;
  std::optional<std::uint32_t> survivors_group(Level level) const;
  std::optional<Split> split(const Spots& spots) const;
  std::optional<Split> split_with(const Spots& spots, std::uint32_t short_domain, std::uint32_t rest) const;
  void fill(const Spots& spots, const Split& split, Repair& out) const;
  void merge(Repair& out) const;
  void explain(Repair& out, std::string_view trouble) const;

  const Tree& tree_;
  const Layout& layout_;
  const Gang& gang_;
  std::set<NodeId> failed_;
  std::vector<std::size_t> survivors_;                // indices into gang_.nodes
  std::map<std::uint32_t, std::uint32_t> in_domain_;  // surviving pieces
  std::set<std::uint32_t> home_;                      // leaves of survivors
  std::uint32_t lost_ = 0;                            // pieces
};

constexpr std::uint32_t kNoDomain = UINT32_MAX;

void Repairer::count() {
  for (std::size_t i = 0; i < gang_.nodes.size(); ++i) {
    const NodeId n = gang_.nodes[i];
    const std::uint32_t pieces = bits(gang_.slots[i]) / piece(n);
    if (failed_.count(n) != 0) {
      lost_ += pieces;
      continue;
    }
    survivors_.push_back(i);
    in_domain_[layout_.nodes[n.v].domain] += pieces;
    home_.insert(layout_.nodes[n.v].leaf);
  }
}

std::optional<std::uint32_t> Repairer::survivors_group(Level level) const {
  const std::uint32_t g = group_of(layout_, gang_.nodes[survivors_[0]], level);
  for (const std::size_t i : survivors_) {
    if (group_of(layout_, gang_.nodes[i], level) != g) return std::nullopt;
  }
  return g;
}

// Nodes that failed, and those that do not go with the survivors while an upgrade keeps versions apart: within the whole gang, or
// within each NVLink domain, where those of a domain that is new to the gang must go with each other.
std::set<NodeId> Repairer::not_beside_survivors() const {
  std::set<NodeId> out = failed_;
  if (tree_.kept_apart() == 0) return out;
  const bool by_domain = tree_.kept_apart() == kOfFewer;
  std::map<std::uint32_t, bool> has_it;  // by domain; where it is about the whole gang, under one key
  const auto key = [&](NodeId n) { return by_domain ? layout_.nodes[n.v].domain : 0; };
  for (const std::size_t i : survivors_) has_it.emplace(key(gang_.nodes[i]), (tree_.side(gang_.nodes[i]) & kHasIt) != 0);
  for (std::uint32_t n = 0; n < layout_.nodes.size(); ++n) {
    const std::uint8_t side = tree_.side(NodeId{n});
    const auto it = has_it.find(key(NodeId{n}));
    if (it != has_it.end() ? it->second != ((side & kHasIt) != 0) : (side & kFewer) != 0) out.insert(NodeId{n});
  }
  return out;
}

// `rest` pieces of the last, short segment are to lie in short_domain (kNoDomain: there is no short segment).
std::optional<Split> Repairer::split_with(const Spots& spots, std::uint32_t short_domain, std::uint32_t rest) const {
  const std::uint32_t s = segment();
  Split out;
  std::uint32_t left = lost_;
  const auto force = [&](std::uint32_t domain, std::uint32_t pieces) {
    if (pieces == 0) return true;
    if (pieces > left || pieces > spots.room(domain)) return false;
    out.pieces[domain] += pieces;
    left -= pieces;
    return true;
  };
  for (const auto& [domain, have] : in_domain_) {
    const std::uint32_t end = domain == short_domain ? rest : 0;
    if (!force(domain, (end + s - have % s) % s)) return std::nullopt;
  }
  if (short_domain != kNoDomain && in_domain_.count(short_domain) == 0 && !force(short_domain, rest)) return std::nullopt;
  if (left % s != 0) return std::nullopt;

  std::set<std::uint32_t> leaves = home_;
  for (const auto& [domain, pieces] : out.pieces) leaves.insert(spots.leaf(domain));
  std::uint32_t segments = left / s;
  const LeafFill filled = spots.fill_leaves(leaves, out.pieces, segments, s);
  if (!filled.enough) return std::nullopt;
  for (const auto& [domain, pieces] : filled.pieces) out.pieces[domain] += pieces;
  for (const auto& [domain, pieces] : out.pieces) leaves.insert(spots.leaf(domain));
  out.leaves = static_cast<std::uint32_t>(leaves.size());
  out.leaves_min = filled.leaves_min;
  return out;
}

std::optional<Split> Repairer::split(const Spots& spots) const {
  const std::uint32_t rest = gang_.shape.pieces % segment();
  if (rest == 0) return split_with(spots, kNoDomain, 0);
  // The short segment may be wherever it fits: in a domain with survivors, or in any other.
  std::optional<Split> best;
  for (const std::uint32_t domain : spots.domains()) {
    auto s = split_with(spots, domain, rest);
    if (s && (!best || s->leaves < best->leaves)) best = std::move(s);
  }
  for (const auto& [domain, have] : in_domain_) {
    auto s = split_with(spots, domain, rest);
    if (s && (!best || s->leaves < best->leaves)) best = std::move(s);
  }
  if (best) best->leaves_min = best->leaves;
  return best;
}

void Repairer::fill(const Spots& spots, const Split& split, Repair& out) const {
  for (const auto& [domain, pieces] : split.pieces) {
    for (const auto& [n, count] : spots.pick(domain, pieces, gang_.nodes)) {
      std::uint32_t free = tree_.free_slots(n);
      std::uint16_t slots = 0;
      for (std::uint32_t k = count * piece(n); k > 0; --k) {
        slots = static_cast<std::uint16_t>(slots | (free & (0U - free)));
        free &= free - 1;
      }
      out.in.push_back({n, slots});
    }
  }
  std::sort(out.in.begin(), out.in.end(), [](const Replacement& a, const Replacement& b) { return a.node < b.node; });
}

void Repairer::merge(Repair& out) const {
  std::map<NodeId, std::uint16_t> all;
  for (const std::size_t i : survivors_) all[gang_.nodes[i]] = gang_.slots[i];
  for (const Replacement& r : out.in) all[r.node] = static_cast<std::uint16_t>(all[r.node] | r.slots);
  for (const auto& [n, slots] : all) {
    out.nodes.push_back(n);
    out.slots.push_back(slots);
  }
}

void Repairer::explain(Repair& out, std::string_view trouble) const {
  const std::string who = fmt::format("{} of {} nodes failed", out.out.size(), gang_.nodes.size());
  if (!out.possible) {
    out.why = fmt::format("{}; {}", who, trouble);
    return;
  }
  std::string closer;
  for (std::size_t l = 0; l < out.spare_below.size(); ++l) {
    if (!survivors_group(static_cast<Level>(l))) continue;
    closer += fmt::format("; its {} has room for {} of {} pieces", say(static_cast<Level>(l)), out.spare_below[l], lost_);
  }
  const std::uint32_t added = out.leaves > home_.size() ? out.leaves - static_cast<std::uint32_t>(home_.size()) : 0;
  out.why = fmt::format("{}, replaced by {} within the {}, {} beyond the survivors' {}, the least possible{}", who, out.in.size(),
                        out.level == Level::core ? "cluster" : fmt::format("gang's {}", say(out.level)),
                        added == 0 ? "no leaf" : fmt::format("{} lea{}", added, added == 1 ? "f" : "ves"), home_.size(), closer);
}

Repair Repairer::plan() {
  Repair out;
  for (const NodeId n : gang_.nodes) {
    if (failed_.count(n) != 0) out.out.push_back(n);
  }
  out.leaves_before = leaves_of(layout_, gang_.nodes);
  if (gang_.shape.milli < 1000) {
    explain(out, "it uses shares of GPUs, which are placed anew, not repaired");
    return out;
  }
  count();
  if (survivors_.empty()) {
    explain(out, "nothing of it survives: it must be placed anew");
    return out;
  }
  const std::set<NodeId> without = not_beside_survivors();
  std::uint32_t room = 0;
  for (std::uint32_t l = 0; l <= static_cast<std::uint32_t>(gang_.shape.required); ++l) {
    const auto level = static_cast<Level>(l);
    const auto group = survivors_group(level);
    room = 0;
    if (group) {
      const Spots spots(tree_, layout_, gang_.shape, level, *group, without);
      room = spots.room();
      if (const auto s = room >= lost_ ? split(spots) : std::nullopt) {
        out.possible = true;
        out.level = level;
        out.leaves = s->leaves;
        out.leaves_min = s->leaves_min;
        fill(spots, *s, out);
        merge(out);
        explain(out, "");
        return out;
      }
    }
    out.spare_below.push_back(room);
  }
  explain(out, fmt::format("spares within its {} take {} of {} pieces{}", say(gang_.shape.required), std::min(room, lost_), lost_,
                           room >= lost_ ? ", but not in the NVLink domains of the broken segments" : ""));
  return out;
}

}  // namespace

Repair plan_repair(const Tree& tree, const Layout& layout, const Gang& gang, std::span<const NodeId> failed) {
  return Repairer(tree, layout, gang, failed).plan();
}

}  // namespace muster::decide
