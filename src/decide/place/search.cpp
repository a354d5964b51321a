// The levels, one after the other, and the choice of leaves.
//
// Why the number of leaves is the least possible. Let a group's leaves have rooms r1 >= r2 >= ... and the gang have P pieces.
//
// Without segments, k leaves take at most the sum of their rooms, and by exchange (put a larger leaf in the place of a smaller
// one: the sum does not fall) no k leaves take more than the k largest. So the least k with r1 + ... + rk >= P is the least for
// any choice inside the group, whatever nodes are picked; largest-first reaches it. Any k leaves that hold P are as
// good, so those are taken that leave the large holes whole (share_out).
//
// With segments of s, k leaves take at most s * (sum of places) + (largest remainder), see lens.h. Both parts are largest at
// once for the first k in order of room: that order is by places, then by remainder; so the first k have the largest sum of
// places, and a leaf outside them with a larger remainder has fewer places than each of them: using it loses a whole place, s
// pieces, and gains less than s. The same exchange holds, and ragged domains or a short last segment change nothing.
//
// So leaves_min equals leaves for every shape. What is not exact is what comes after it in the order of wishes: least cost is
// exact for gangs in one leaf without segments, and a good guess for several leaves (there it contains the knapsack problem).
#include "decide/place/search.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include "base/check.h"

namespace muster::decide::place {
namespace {

using Entry = Lens::Entry;

struct Share {
  std::uint32_t leaf = 0;
  std::uint32_t pieces = 0;
};

constexpr std::uint32_t kTooMany = UINT32_MAX;

// Least number of leaves out of the first `limit` of an order that take the pieces together.
std::uint32_t leaves_needed(std::span<const Entry> order, std::uint32_t pieces, std::uint32_t segment, std::uint32_t limit) {
  std::uint64_t places = 0;
  std::uint32_t over = 0;
  for (std::uint32_t k = 0; k < order.size() && k < limit; ++k) {
    const std::uint32_t room = order[k].room();
    if (room == 0) break;
    places += room / segment;
    over = std::max(over, room % segment);
    if (places * segment + over >= pieces) return k + 1;
  }
  return kTooMany;
}

// Mean cost of a leaf's nodes that have room.
std::uint32_t leaf_cost(const Sight& sight, std::uint32_t leaf) {
  std::uint32_t sum = 0, count = 0;
  const std::uint32_t end = sight.plan.leaf_nodes[leaf + 1];
  for (std::uint32_t at = sight.lens.next_with_room(sight.plan.leaf_nodes[leaf], end); at < end;
       at = sight.lens.next_with_room(at + 1, end)) {
    sum += sight.books.cost[at];
    ++count;
  }
  return count == 0 ? 0 : sum / count;
}

// All places of the first k are used and the short segment goes into what is over: into the tightest remainder that holds it.
std::vector<Share> share_all(std::span<const Entry> first, std::uint32_t segment, std::uint32_t rest) {
  std::vector<Share> out;
  std::uint32_t least = UINT32_MAX;
  std::size_t tightest = first.size();
  for (const Entry& e : first) {
    const std::uint32_t over = e.room() % segment;
    if (over >= rest && over < least) {
      least = over;
      tightest = out.size();
    }
    out.push_back({e.leaf(), e.room() - over});
  }
  MUSTER_CHECK(tightest < out.size());
  out[tightest].pieces += rest;
  return out;
}

// How many pieces each leaf takes. `order` is from the largest down and `k` the least number that suffices. The first k have
// some room to spare; from the largest on, each is exchanged for the cheapest and smallest leaf outside that leaves enough: so
// large holes stay whole, and the number stays k. All but the smallest of the chosen are then filled.
std::vector<Share> share_out(const Sight& sight, std::span<const Entry> order, std::uint32_t k, std::uint32_t pieces) {
  const std::uint32_t segment = sight.lens.kind().segment;
  const std::uint32_t rest = pieces % segment, needed = pieces / segment + (rest > 0 ? 1 : 0);
  std::vector<std::uint32_t> chosen(k);  // places in order
  std::uint32_t places = 0;
  for (std::uint32_t i = 0; i < k; ++i) {
    chosen[i] = i;
    places += order[i].room() / segment;
  }
  if (places < needed) return share_all(order.first(k), segment, rest);
  std::uint32_t spare = places - needed;
  std::vector<std::uint32_t> costs(sight.costly ? order.size() : 0);
  for (std::size_t i = 0; i < costs.size(); ++i) costs[i] = leaf_cost(sight, order[i].leaf());
  const auto cost_at = [&](std::uint32_t i) { return costs.empty() ? 0 : costs[i]; };
  for (std::uint32_t i = 0; i < k && (spare > 0 || sight.costly); ++i) {
    const std::uint32_t have = order[i].room() / segment;
    std::uint32_t best = i, best_cost = cost_at(i);
    for (std::uint32_t j = k; j < order.size() && order[j].room() / segment + spare >= have; ++j) {
      if (order[j].room() < segment || std::find(chosen.begin(), chosen.begin() + i, j) != chosen.begin() + i) continue;
      const std::uint32_t cost = cost_at(j);
      if (cost > best_cost || (cost == best_cost && order[j].room() == order[best].room())) continue;
      best = j;
      best_cost = cost;
    }
    spare -= have - order[best].room() / segment;
    chosen[i] = best;
  }
  std::sort(chosen.begin(), chosen.end());
  std::vector<Share> out;
  out.reserve(k);
  std::uint32_t left = pieces;
  for (const std::uint32_t c : chosen) {
    const std::uint32_t here = std::min(left, order[c].room() / segment * segment);
    out.push_back({order[c].leaf(), here});
    left -= here;
  }
  MUSTER_CHECK(left == 0);
  return out;
}

std::vector<Pick> fill(const Sight& sight, std::vector<Share> shares) {
  std::sort(shares.begin(), shares.end(), [](const Share& a, const Share& b) { return a.leaf < b.leaf; });
  std::vector<Pick> picks;
  std::uint32_t pieces = 0;
  for (const Share& s : shares) pieces += s.pieces;
  picks.reserve(std::min(pieces, sight.plan.nodes()));
  for (const Share& s : shares) {
    if (s.pieces > 0) fill_leaf(sight, s.leaf, s.pieces, picks);
  }
  return picks;
}

// A node for a whole-node piece: in the leaf, or the NVLink domain, with the least room.
std::vector<Pick> pick_whole_node(const Sight& sight) {
  std::vector<Pick> picks;
  if (sight.plan.lone_domains) {
    fill_leaf(sight, sight.lens.leaves().first_at_least(1), 1, picks);
  } else {
    const std::uint32_t d = sight.lens.domains().first_at_least(1);
    fill_run(sight, sight.plan.domain_nodes[d], sight.plan.domain_nodes[d + 1], 1, picks);
  }
  return picks;
}

// A node for part-node pieces: with the fewest free GPUs that do, in the leaf with the fewest whole nodes.
std::vector<Pick> pick_broken_node(const Sight& sight, std::uint32_t pieces) {
  const Lens& lens = sight.lens;
  for (std::uint32_t free = pieces * lens.kind().gpus;; ++free) {
    MUSTER_CHECK(free <= 16);
    std::uint32_t best = kNoGroup;
    const auto words = lens.leaves_with(free);
    for (std::uint32_t w = 0; w < words.size(); ++w) {
      for (std::uint64_t left = words[w]; left != 0; left &= left - 1) {
        const std::uint32_t leaf = w * 64 + static_cast<std::uint32_t>(std::countr_zero(left));
        if (best == kNoGroup || lens.whole_nodes(leaf) < lens.whole_nodes(best)) best = leaf;
      }
    }
    if (best == kNoGroup) continue;
    std::uint32_t at = sight.plan.leaf_nodes[best];
    while (lens.node_free(at) != free) ++at;
    return {{at, pieces}};
  }
}

std::vector<Pick> pick_node(const Sight& sight, std::uint32_t pieces) {
  const Lens& lens = sight.lens;
  if (lens.kind().milli == 1000) {
    auto picks = lens.kind().gpus == 0 ? pick_whole_node(sight) : pick_broken_node(sight, pieces);
    if (!sight.costly || cost_of(sight, picks) == 0) return picks;
  }
  std::uint32_t best = kNoGroup;
  const auto key = [&](std::uint32_t at) { return std::tuple(sight.books.cost[at], std::popcount(sight.books.free[at])); };
  for (std::uint32_t at = lens.next_with_room(0, sight.plan.nodes()); at < sight.plan.nodes();
       at = lens.next_with_room(at + 1, sight.plan.nodes())) {
    if (lens.node_room(at) >= pieces && (best == kNoGroup || key(at) < key(best))) best = at;
  }
  return {{best, pieces}};
}

// No choice of so many pieces within a run of positions costs less.
std::uint64_t cost_floor(const Sight& sight, std::uint32_t begin, std::uint32_t end, std::uint32_t pieces) {
  std::uint64_t least = 255;
  for (std::uint32_t at = sight.lens.next_with_room(begin, end); at < end; at = sight.lens.next_with_room(at + 1, end)) {
    least = std::min<std::uint64_t>(least, sight.books.cost[at]);
  }
  return least * pieces;
}

// The group of `ranks` that holds the pieces: least cost, then least room, then lowest. `runs` are the groups' positions.
template <class Fill>
std::vector<Pick> pick_group(const Sight& sight, const Ranks& ranks, const Starts& runs, std::uint32_t pieces, Fill fill_group) {
  std::vector<Pick> best;
  fill_group(ranks.first_at_least(pieces), best);
  if (!sight.costly || cost_of(sight, best) == 0) return best;  // the tightest, and nothing is cheaper
  std::tuple<std::uint64_t, std::uint32_t> least{UINT64_MAX, 0};
  for (std::uint32_t g = 0; g < ranks.size(); ++g) {
    if (ranks[g] < pieces || std::tuple{cost_floor(sight, runs[g], runs[g + 1], pieces), ranks[g]} >= least) continue;
    std::vector<Pick> picks;
    fill_group(g, picks);
    const std::tuple now{cost_of(sight, picks), ranks[g]};
    if (now >= least) continue;
    least = now;
    best = std::move(picks);
  }
  return best;
}

std::optional<std::vector<Pick>> pick_pod(const Sight& sight, std::uint32_t pieces, std::uint32_t& room_max) {
  const std::uint32_t segment = sight.lens.kind().segment;
  std::uint32_t best = kNoGroup, best_room = 0, fewest = kTooMany;
  std::vector<std::uint32_t> equals;  // pods with the fewest leaves, for the comparison of costs
  for (std::uint32_t pod = 0; pod < sight.plan.pods(); ++pod) {
    const std::uint32_t room = sight.lens.pod_room(sight.plan, pod);
    room_max = std::max(room_max, room);
    if (room < pieces) continue;
    const auto order = sight.lens.order(sight.plan, pod);
    if (fewest != kTooMany && std::uint64_t{order.front().room()} * fewest < pieces) continue;
    const std::uint32_t k = leaves_needed(order, pieces, segment, fewest);
    if (k > fewest || k == kTooMany) continue;
    if (k < fewest) equals.clear();
    if (sight.costly) equals.push_back(pod);
    if (k < fewest || room < best_room) {
      best = pod;
      best_room = room;
    }
    fewest = k;
  }
  if (best == kNoGroup) return std::nullopt;
  auto picks = fill(sight, share_out(sight, sight.lens.order(sight.plan, best), fewest, pieces));
  if (!sight.costly || cost_of(sight, picks) == 0) return picks;
  std::tuple<std::uint64_t, std::uint32_t> least{UINT64_MAX, 0};
  for (const std::uint32_t pod : equals) {
    auto here = fill(sight, share_out(sight, sight.lens.order(sight.plan, pod), fewest, pieces));
    const std::tuple now{cost_of(sight, here), sight.lens.pod_room(sight.plan, pod)};
    if (now >= least) continue;
    least = now;
    picks = std::move(here);
  }
  return picks;
}

std::vector<Pick> pick_core(const Sight& sight, std::uint32_t pieces) {
  std::vector<Entry> order;
  sight.lens.leaves().descend([&](std::uint32_t leaf, std::uint32_t room) {
    order.push_back({(std::uint64_t{room} << 32) | (UINT32_MAX - leaf)});
    return true;
  });
  const std::uint32_t k = leaves_needed(order, pieces, sight.lens.kind().segment, kTooMany);
  return fill(sight, share_out(sight, order, k, pieces));
}

Choice assemble(const Sight& sight, std::vector<Pick> picks) {
  const Kind& kind = sight.lens.kind();
  const auto before = [&](const Pick& a, const Pick& b) {
    return sight.plan.node_at[a.position] < sight.plan.node_at[b.position];
  };
  if (!std::is_sorted(picks.begin(), picks.end(), before)) std::sort(picks.begin(), picks.end(), before);
  Choice out;
  out.nodes.reserve(picks.size());
  out.slots.reserve(picks.size());
  std::vector<std::pair<std::uint32_t, std::uint32_t>> shared;  // thousandths free of a shared GPU, slot
  for (const Pick& p : picks) {
    const std::uint16_t free = sight.books.free[p.position];
    out.nodes.push_back({sight.plan.node_at[p.position]});
    if (kind.gpus == 0) {
      out.slots.push_back(sight.plan.gpus_mask[p.position]);
    } else if (kind.milli == 1000) {
      out.slots.push_back(pick_slots(free, p.pieces * kind.gpus));
    } else {
      shared.clear();
      for (std::uint32_t taken = sight.plan.gpus_mask[p.position] & ~free; taken != 0; taken &= taken - 1) {
        const auto slot = static_cast<std::uint32_t>(std::countr_zero(taken));
        const std::uint32_t used = sight.books.shared[sight.plan.first_gpu[p.position] + slot];
        if (used != 0 && used + kind.milli <= 1000) shared.emplace_back(1000 - used, slot);
      }
      std::sort(shared.begin(), shared.end());
      std::uint32_t slots = 0, left = p.pieces;
      for (auto it = shared.begin(); it != shared.end() && left > 0; ++it, --left) slots |= 1U << it->second;
      out.slots.push_back(static_cast<std::uint16_t>(left == 0 ? slots : slots | pick_slots(free, left)));
    }
  }
  return out;
}

Choice finish(const Sight& sight, const Shape& shape, Level level, std::vector<Pick> picks, std::uint32_t pod_room_max) {
  const Plan& plan = sight.plan;
  const std::uint32_t first = picks.front().position;
  Certificate c;
  c.level = level;
  std::uint32_t leaf = kNoGroup;
  for (const Pick& p : picks) {  // picks of a leaf are neighbours
    if (plan.leaf_of[p.position] != leaf) ++c.leaves;
    leaf = plan.leaf_of[p.position];
  }
  c.leaves_min = c.leaves;
  c.leaves_empty = sight.lens.empty_leaves(shape.pieces, shape.required);
  const std::uint32_t node_max = sight.lens.node_room_max();
  c.best_below.reserve(static_cast<std::size_t>(level));
  if (level > Level::node) c.best_below.push_back(node_max);
  if (level > Level::domain) c.best_below.push_back(plan.lone_domains ? node_max : sight.lens.domains().max());
  if (level > Level::leaf) c.best_below.push_back(sight.lens.leaves().max());
  if (level > Level::pod) c.best_below.push_back(pod_room_max);
  switch (level) {
    case Level::node: c.group = plan.node_at[first]; break;
    case Level::domain: c.group = plan.domain_number[plan.domain_of[first]]; break;
    case Level::leaf: c.group = plan.leaf_number[plan.leaf_of[first]]; break;
    case Level::pod: c.group = plan.pod_number[plan.pod_of_leaf[plan.leaf_of[first]]]; break;
    case Level::core: c.group = 0; break;
  }
  Choice out = assemble(sight, std::move(picks));
  out.certificate = std::move(c);
  return out;
}

}  // namespace

std::optional<Choice> search(const Sight& sight, const Shape& shape) {
  const Lens& lens = sight.lens;
  const Plan& plan = sight.plan;
  const std::uint32_t pieces = shape.pieces;
  if (lens.node_room_max() >= pieces) return finish(sight, shape, Level::node, pick_node(sight, pieces), 0);
  if (shape.required >= Level::domain && !plan.lone_domains && lens.domains().max() >= pieces) {
    auto picks = pick_group(sight, lens.domains(), plan.domain_nodes, pieces, [&](std::uint32_t d, std::vector<Pick>& out) {
      fill_run(sight, plan.domain_nodes[d], plan.domain_nodes[d + 1], pieces, out);
    });
    return finish(sight, shape, Level::domain, std::move(picks), 0);
  }
  if (shape.required >= Level::leaf && lens.leaves().max() >= pieces) {
    auto picks = pick_group(sight, lens.leaves(), plan.leaf_nodes, pieces,
                            [&](std::uint32_t leaf, std::vector<Pick>& out) { fill_leaf(sight, leaf, pieces, out); });
    return finish(sight, shape, Level::leaf, std::move(picks), 0);
  }
  if (shape.required < Level::pod) return std::nullopt;
  std::uint32_t pod_room_max = 0;
  if (auto picks = pick_pod(sight, pieces, pod_room_max)) {
    return finish(sight, shape, Level::pod, std::move(*picks), 0);
  }
  if (shape.required < Level::core || lens.core_room(plan) < pieces) return std::nullopt;
  return finish(sight, shape, Level::core, pick_core(sight, pieces), pod_room_max);
}

bool has_room(const Sight& sight, const Shape& shape) {
  switch (shape.required) {
    case Level::node: return sight.lens.node_room_max() >= shape.pieces;
    case Level::domain:
      return (sight.plan.lone_domains ? sight.lens.node_room_max() : sight.lens.domains().max()) >= shape.pieces;
    case Level::leaf: return sight.lens.leaves().max() >= shape.pieces;
    case Level::pod:
      for (std::uint32_t pod = 0; pod < sight.plan.pods(); ++pod) {
        if (sight.lens.pod_room(sight.plan, pod) >= shape.pieces) return true;
      }
      return false;
    case Level::core: return sight.lens.core_room(sight.plan) >= shape.pieces;
  }
  return false;
}

}  // namespace muster::decide::place
