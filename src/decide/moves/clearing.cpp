#include "decide/moves/clearing.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <tuple>

namespace muster::decide {
namespace {

std::uint32_t bits(std::uint16_t mask) { return static_cast<std::uint32_t>(std::popcount(mask)); }

class Clearing {
 public:
  Clearing(const Tree& tree, const Layout& layout, const Shape& shape, std::span<const NodeId> nodes,
           std::span<const Candidate> candidates)
      : shape_(shape), candidates_(candidates), chosen_(candidates.size()), parts_(candidates.size()) {
    for (const NodeId n : nodes) {
      if (!tree.is_open(n) || !suits(shape, layout.nodes[n.v].model, layout.nodes[n.v].pools)) continue;
      nodes_.push_back({n, decide::free_gpus(tree, layout, shape, n), piece_gpus(layout, shape, n), 0, {}});
      room_ += nodes_.back().room();
    }
    for (std::uint32_t i = 0; i < candidates.size(); ++i) {
      const Gang& g = *candidates[i].gang;
      for (std::size_t k = 0; k < g.nodes.size(); ++k) {
        const auto it =
            std::lower_bound(nodes_.begin(), nodes_.end(), g.nodes[k], [](const Node& x, NodeId n) { return x.id < n; });
        if (it == nodes_.end() || it->id != g.nodes[k]) continue;
        parts_[i].push_back({static_cast<std::uint32_t>(it - nodes_.begin()), bits(g.slots[k])});
        it->on.push_back({i, bits(g.slots[k])});
      }
    }
    freed_.resize(nodes_.size());
  }

  // The best offer is looked at again when it comes up, since what was stopped since may have changed it; if it is no longer the
  // best it goes back. Nodes that got something free are offered anew, because that can only make them cheaper.
  std::vector<Candidate> order() {
    std::vector<Candidate> out;
    for (std::uint32_t n = 0; n < nodes_.size(); ++n) offer(n);
    while (room_ < shape_.pieces && !offers_.empty()) {
      const Offer top = *offers_.begin();
      offers_.erase(offers_.begin());
      if (top.version != nodes_[top.node].version) continue;
      const std::vector<std::uint32_t> victims = for_one_more(nodes_[top.node]);
      if (victims.empty()) continue;
      const Offer now = priced(top.node, victims);
      if (!offers_.empty() && *offers_.begin() < now) {
        offers_.insert(now);
        continue;
      }
      for (const std::uint32_t i : victims) {
        chosen_[i] = true;
        out.push_back(candidates_[i]);
        for (const Part& p : parts_[i]) {
          room_ -= nodes_[p.node].room();
          nodes_[p.node].free += p.gpus;
          room_ += nodes_[p.node].room();
        }
      }
      for (const std::uint32_t i : victims) {
        for (const Part& p : parts_[i]) offer(p.node);
      }
    }
    const std::size_t cleared = out.size();
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
      if (!chosen_[i]) out.push_back(candidates_[i]);
    }
    std::sort(out.begin() + static_cast<std::ptrdiff_t>(cleared), out.end(), cheaper_per_gpu);
    return out;
  }

 private:
  struct On {
    std::uint32_t candidate = 0;
    std::uint32_t gpus = 0;
  };
  struct Part {
    std::uint32_t node = 0;
    std::uint32_t gpus = 0;
  };
  struct Node {
    NodeId id;
    std::uint32_t free = 0;
    std::uint32_t piece = 0;
    std::uint32_t version = 0;
    std::vector<On> on;
    std::uint32_t room() const { return free / piece; }
  };
  struct Offer {
    double price = 0;  // loss for each piece won
    std::int64_t loss = 0;
    std::uint32_t node = 0;
    std::uint32_t version = 0;
    auto operator<=>(const Offer&) const = default;
  };

  // Whom to stop for one more piece on the node; none when that cannot be.
  std::vector<std::uint32_t> for_one_more(Node& x) const {
    std::erase_if(x.on, [&](const On& c) { return chosen_[c.candidate]; });
    std::sort(x.on.begin(), x.on.end(), [&](const On& a, const On& b) {
      const double la = static_cast<double>(candidates_[a.candidate].loss) * b.gpus;
      const double lb = static_cast<double>(candidates_[b.candidate].loss) * a.gpus;
      return std::tuple(la, a.candidate) < std::tuple(lb, b.candidate);
    });
    const std::uint32_t want = (x.room() + 1) * x.piece;
    std::uint32_t have = x.free;
    std::vector<std::uint32_t> out;
    for (const On& c : x.on) {
      if (have >= want) break;
      have += c.gpus;
      out.push_back(c.candidate);
    }
    if (have < want) out.clear();
    return out;
  }

  Offer priced(std::uint32_t n, std::span<const std::uint32_t> victims) {
    std::int64_t loss = 0;
    std::uint32_t won = 0;  // pieces that all nodes together win
    for (const std::uint32_t i : victims) {
      loss += candidates_[i].loss;
      for (const Part& p : parts_[i]) {
        const Node& x = nodes_[p.node];
        won -= (x.free + freed_[p.node]) / x.piece;
        freed_[p.node] += p.gpus;
        won += (x.free + freed_[p.node]) / x.piece;
      }
    }
    for (const std::uint32_t i : victims) {
      for (const Part& p : parts_[i]) freed_[p.node] = 0;
    }
    won = std::clamp(won, 1U, std::max(1U, shape_.pieces - std::min(shape_.pieces, room_)));
    return {static_cast<double>(loss) / won, loss, n, nodes_[n].version};
  }

  void offer(std::uint32_t n) {
    ++nodes_[n].version;
    const std::vector<std::uint32_t> victims = for_one_more(nodes_[n]);
    if (!victims.empty()) offers_.insert(priced(n, victims));
  }

  const Shape& shape_;
  std::span<const Candidate> candidates_;
  std::vector<bool> chosen_;
  std::vector<std::vector<Part>> parts_;  // by candidate: what it holds on usable nodes
  std::vector<Node> nodes_;               // usable, in node order
  std::vector<std::uint32_t> freed_;      // by node, all 0 between calls
  std::set<Offer> offers_;
  std::uint32_t room_ = 0;  // pieces
};

}  // namespace

bool cheaper_per_gpu(const Candidate& a, const Candidate& b) {
  const double x = static_cast<double>(a.loss) * static_cast<double>(std::max<std::int64_t>(b.gpus, 1));
  const double y = static_cast<double>(b.loss) * static_cast<double>(std::max<std::int64_t>(a.gpus, 1));
  return std::tuple(x, a.gang->id) < std::tuple(y, b.gang->id);
}

std::uint32_t piece_gpus(const Layout& layout, const Shape& shape, NodeId n) {
  return shape.gpus == 0 ? layout.nodes[n.v].gpus : shape.gpus;
}

std::uint32_t free_gpus(const Tree& tree, const Layout& layout, const Shape& shape, NodeId n) {
  if (!tree.is_open(n) || !suits(shape, layout.nodes[n.v].model, layout.nodes[n.v].pools)) return 0;
  return static_cast<std::uint32_t>(std::popcount(tree.free_slots(n)));
}

std::vector<Candidate> by_node(const Tree& tree, const Layout& layout, const Shape& shape, std::span<const NodeId> nodes,
                               std::span<const Candidate> candidates) {
  return Clearing(tree, layout, shape, nodes, candidates).order();
}

std::vector<Candidate> by_domain(const Layout& layout, std::span<const Candidate> candidates) {
  std::map<std::uint32_t, std::pair<std::int64_t, std::int64_t>> sums;  // loss, GPUs
  const auto domain = [&](const Candidate& c) { return group_of(layout, c.gang->nodes[0], Level::domain); };
  for (const Candidate& c : candidates) {
    auto& s = sums[domain(c)];
    s.first += c.loss;
    s.second += c.gpus;
  }
  const auto key = [&](const Candidate& c) {
    const auto& s = sums.at(domain(c));
    return std::tuple(static_cast<double>(s.first) / static_cast<double>(std::max<std::int64_t>(s.second, 1)), domain(c),
                      c.gang->id);
  };
  std::vector<Candidate> order(candidates.begin(), candidates.end());
  std::sort(order.begin(), order.end(), [&](const Candidate& a, const Candidate& b) { return key(a) < key(b); });
  return order;
}

}  // namespace muster::decide
