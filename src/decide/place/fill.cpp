// Nodes within a leaf, domains first.
#include "decide/place/fill.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include "base/check.h"

namespace muster::decide::place {
namespace {

struct Domain {
  std::uint32_t number = 0;
  std::uint32_t room = 0;
  std::uint32_t cost = 0;    // mean of the nodes with room; 0 where costs are not looked at
  std::uint32_t pieces = 0;  // what it is given
};

std::uint32_t mean_cost(const Sight& sight, std::uint32_t domain) {
  if (!sight.costly) return 0;
  std::uint32_t sum = 0, count = 0;
  const std::uint32_t end = sight.plan.domain_nodes[domain + 1];
  for (std::uint32_t at = sight.lens.next_with_room(sight.plan.domain_nodes[domain], end); at < end;
       at = sight.lens.next_with_room(at + 1, end)) {
    sum += sight.books.cost[at];
    ++count;
  }
  return count == 0 ? 0 : sum / count;
}

std::vector<Domain> domains_of(const Sight& sight, std::uint32_t leaf) {
  std::vector<Domain> out;
  for (std::uint32_t d = sight.plan.leaf_domains[leaf]; d < sight.plan.leaf_domains[leaf + 1]; ++d) {
    const std::uint32_t room =
        sight.plan.lone_domains ? sight.lens.node_room(sight.plan.domain_nodes[d]) : sight.lens.domains()[d];
    if (room > 0) out.push_back({d, room, mean_cost(sight, d), 0});
  }
  return out;
}

// Fewest domains: the largest first, and for what is left then the smallest that holds it.
void spread(std::vector<Domain>& domains, std::uint32_t pieces) {
  const auto larger = [](const Domain& a, const Domain& b) {
    return std::tuple(b.room, a.cost, a.number) < std::tuple(a.room, b.cost, b.number);
  };
  std::sort(domains.begin(), domains.end(), larger);
  for (auto at = domains.begin(); pieces > 0; ++at) {
    auto last = domains.end();
    for (auto it = at; it != domains.end() && it->room >= pieces; ++it) {
      if (last == domains.end() || std::tuple(it->cost, it->room) < std::tuple(last->cost, last->room)) last = it;
    }
    Domain& taken = last != domains.end() ? *last : *at;
    taken.pieces = std::min(pieces, taken.room);
    pieces -= taken.pieces;
  }
}

// Whole segments into the smallest domains that have places; the short one into what is over somewhere, else into a place.
void spread_segments(std::vector<Domain>& domains, std::uint32_t pieces, std::uint32_t segment) {
  const auto smaller = [](const Domain& a, const Domain& b) {
    return std::tuple(a.cost, a.room, a.number) < std::tuple(b.cost, b.room, b.number);
  };
  std::sort(domains.begin(), domains.end(), smaller);
  std::uint32_t whole = pieces / segment, rest = pieces % segment;
  if (rest > 0) {
    Domain* best = nullptr;
    for (auto& d : domains) {
      if (d.room % segment >= rest && (best == nullptr || d.room % segment < best->room % segment)) best = &d;
    }
    if (best != nullptr) {
      best->pieces += rest;
      rest = 0;
    }
  }
  for (auto& d : domains) {
    const std::uint32_t places = d.room / segment, here = std::min(whole, places);
    d.pieces += here * segment;
    whole -= here;
    if (whole == 0 && rest > 0 && here < places) {
      d.pieces += rest;
      rest = 0;
    }
  }
  MUSTER_CHECK(whole == 0 && rest == 0);
}

}  // namespace

void fill_run(const Sight& sight, std::uint32_t begin, std::uint32_t end, std::uint32_t pieces, std::vector<Pick>& out) {
  const Lens& lens = sight.lens;
  if (lens.kind().gpus == 0 && !sight.costly) {
    for (std::uint32_t at = lens.next_with_room(begin, end); pieces > 0; at = lens.next_with_room(at + 1, end), --pieces) {
      MUSTER_CHECK(at < end);
      out.push_back({at, 1});
    }
    return;
  }
  std::vector<std::tuple<std::uint8_t, std::uint32_t, std::uint32_t>> nodes;  // cost, free GPUs, position
  for (std::uint32_t at = lens.next_with_room(begin, end); at < end; at = lens.next_with_room(at + 1, end)) {
    nodes.emplace_back(sight.books.cost[at], static_cast<std::uint32_t>(std::popcount(sight.books.free[at])), at);
  }
  std::sort(nodes.begin(), nodes.end());
  for (const auto& [cost, free, at] : nodes) {
    if (pieces == 0) break;
    const std::uint32_t here = std::min(pieces, lens.node_room(at));
    out.push_back({at, here});
    pieces -= here;
  }
  MUSTER_CHECK(pieces == 0);
}

void fill_leaf(const Sight& sight, std::uint32_t leaf, std::uint32_t pieces, std::vector<Pick>& out) {
  const std::uint32_t segment = sight.lens.kind().segment;
  if (sight.plan.lone_domains && segment == 1) {
    fill_run(sight, sight.plan.leaf_nodes[leaf], sight.plan.leaf_nodes[leaf + 1], pieces, out);
    return;
  }
  auto domains = domains_of(sight, leaf);
  if (segment == 1) {
    spread(domains, pieces);
  } else {
    spread_segments(domains, pieces, segment);
  }
  for (const auto& d : domains) {
    if (d.pieces > 0) {
      fill_run(sight, sight.plan.domain_nodes[d.number], sight.plan.domain_nodes[d.number + 1], d.pieces, out);
    }
  }
}

std::uint64_t cost_of(const Sight& sight, const std::vector<Pick>& picks) {
  std::uint64_t sum = 0;
  for (const Pick& p : picks) sum += std::uint64_t{sight.books.cost[p.position]} * p.pieces;
  return sum;
}

std::uint16_t pick_slots(std::uint16_t free, std::uint32_t gpus) {
  if (static_cast<std::uint32_t>(std::popcount(free)) == gpus) return free;
  std::uint32_t best = free;
  for (std::uint32_t width = std::bit_ceil(gpus); width < 16; width *= 2) {
    bool found = false;
    for (std::uint32_t at = 0; at < 16; at += width) {
      const std::uint32_t block = free & (((1U << width) - 1) << at);
      if (static_cast<std::uint32_t>(std::popcount(block)) < gpus) continue;
      if (!found || std::popcount(block) < std::popcount(best)) best = block;
      found = true;
    }
    if (found) break;
  }
  std::uint32_t out = 0;
  for (; gpus > 0; --gpus, best &= best - 1) out |= best & (~best + 1);
  return static_cast<std::uint16_t>(out);
}

}  // namespace muster::decide::place
