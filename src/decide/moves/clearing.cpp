#include "decide/moves/clearing.h"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

namespace muster::decide {
namespace {

// All nodes are looked at anew after each that was cleared; beyond so many looks the simpler orders must do.
constexpr std::size_t kLooks = 100'000;

std::uint32_t bits(std::uint16_t mask) { return static_cast<std::uint32_t>(std::popcount(mask)); }

class Clearing {
 public:
  Clearing(const Tree& tree, const Layout& layout, const Shape& shape, std::span<const NodeId> nodes,
           std::span<const Candidate> candidates)
      : layout_(layout), shape_(shape), candidates_(candidates), chosen_(candidates.size()) {
    for (const NodeId n : nodes) {
      if (!tree.is_open(n) || (shape.model != kAnyModel && layout.nodes[n.v].model != shape.model)) continue;
      Node& x = nodes_[n];
      x.free = decide::free_gpus(tree, layout, shape, n);
      room_ += x.free / piece(n);
    }
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const Gang& g = *candidates[i].gang;
      for (std::size_t k = 0; k < g.nodes.size(); ++k) {
        const auto it = nodes_.find(g.nodes[k]);
        if (it != nodes_.end()) it->second.on.emplace_back(i, bits(g.slots[k]));
      }
    }
    std::erase_if(nodes_, [](const auto& x) { return x.second.on.empty(); });
  }

  std::vector<Candidate> order() {
    std::vector<Candidate> out;
    for (std::size_t looks = nodes_.size(); room_ < shape_.pieces && looks < kLooks; looks += nodes_.size()) {
      const std::vector<std::size_t> victims = cheapest();
      if (victims.empty()) break;
      for (const std::size_t i : victims) {
        chosen_[i] = true;
        out.push_back(candidates_[i]);
        free_all(i);
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
  struct Node {
    std::uint32_t free = 0;
    std::vector<std::pair<std::size_t, std::uint32_t>> on;  // candidate, GPUs
  };

  std::uint32_t piece(NodeId n) const { return piece_gpus(layout_, shape_, n); }

  // Whom to stop for one more piece on the node; none when that cannot be.
  std::vector<std::size_t> for_one_more(NodeId n, Node& x) const {
    std::erase_if(x.on, [&](const auto& c) { return chosen_[c.first]; });
    std::sort(x.on.begin(), x.on.end(), [&](const auto& a, const auto& b) {
      const double la = static_cast<double>(candidates_[a.first].loss) * b.second;
      const double lb = static_cast<double>(candidates_[b.first].loss) * a.second;
      return std::tuple(la, a.first) < std::tuple(lb, b.first);
    });
    const std::uint32_t want = (x.free / piece(n) + 1) * piece(n);
    std::uint32_t have = x.free;
    std::vector<std::size_t> out;
    for (const auto& [i, gpus] : x.on) {
      if (have >= want) break;
      have += gpus;
      out.push_back(i);
    }
    if (have < want) out.clear();
    return out;
  }

  // Pieces that all nodes together win when these are stopped.
  std::uint32_t pieces_won(std::span<const std::size_t> victims) const {
    std::map<NodeId, std::uint32_t> freed;
    for (const std::size_t i : victims) {
      const Gang& g = *candidates_[i].gang;
      for (std::size_t k = 0; k < g.nodes.size(); ++k) freed[g.nodes[k]] += bits(g.slots[k]);
    }
    std::uint32_t won = 0;
    for (const auto& [n, gpus] : freed) {
      const auto it = nodes_.find(n);
      if (it != nodes_.end()) won += (it->second.free + gpus) / piece(n) - it->second.free / piece(n);
    }
    return won;
  }

  std::vector<std::size_t> cheapest() {
    std::tuple<double, std::int64_t, NodeId> best{1e300, 0, NodeId{}};
    std::vector<std::size_t> out;
    for (auto& [n, x] : nodes_) {
      std::vector<std::size_t> victims = for_one_more(n, x);
      if (victims.empty()) continue;
      std::int64_t loss = 0;
      for (const std::size_t i : victims) loss += candidates_[i].loss;
      const std::uint32_t won = std::min(pieces_won(victims), static_cast<std::uint32_t>(shape_.pieces - room_));
      const std::tuple now{static_cast<double>(loss) / std::max(won, 1U), loss, n};
      if (now < best) {
        best = now;
        out = std::move(victims);
      }
    }
    return out;
  }

  void free_all(std::size_t i) {
    const Gang& g = *candidates_[i].gang;
    for (std::size_t k = 0; k < g.nodes.size(); ++k) {
      const auto it = nodes_.find(g.nodes[k]);
      if (it == nodes_.end()) continue;
      room_ -= it->second.free / piece(it->first);
      it->second.free += bits(g.slots[k]);
      room_ += it->second.free / piece(it->first);
    }
  }

  const Layout& layout_;
  const Shape& shape_;
  std::span<const Candidate> candidates_;
  std::vector<bool> chosen_;
  std::map<NodeId, Node> nodes_;  // usable, with a candidate on them
  std::uint32_t room_ = 0;        // pieces
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
  if (!tree.is_open(n) || (shape.model != kAnyModel && layout.nodes[n.v].model != shape.model)) return 0;
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
