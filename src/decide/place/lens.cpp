// Room per group, kept as nodes change: a changed node costs a few stores in each of its groups.
#include "decide/place/lens.h"

#include <algorithm>
#include <bit>

namespace muster::decide::place {
namespace {

// Open, and what is asked for.
bool seen(const Kind& kind, const Plan& plan, const Books& books, std::uint32_t position) {
  return (books.open[position] & kind.sides) != 0 && suits(kind, plan.model[position], plan.pools[position]);
}

std::uint32_t room_of(std::uint32_t places, std::uint32_t over, std::uint32_t segment) { return places * segment + over; }

// rooms, sorted from the largest down, become the most pieces that the first 1, 2, ... of them take together: the first k have
// the largest sum of places, and the largest remainder among all leaves with no fewer places than the k-th.
std::vector<std::uint32_t> most_in(std::vector<std::uint32_t> rooms, std::uint32_t segment) {
  std::sort(rooms.begin(), rooms.end(), std::greater<>());
  std::uint32_t places = 0, over = 0;
  for (auto& room : rooms) {
    places += room / segment;
    over = std::max(over, room % segment);
    room = room_of(places, over, segment);
  }
  return rooms;
}

}  // namespace

Kind kind_of(const Shape& shape) {
  return {shape.gpus, shape.milli, std::max(shape.segment, 1U), shape.model, shape.pool, shape.sides};
}

Lens::Lens(const Plan& plan, const Books& books, const Kind& kind) : kind_(kind) {
  node_room_.assign(plan.nodes(), 0);
  with_room_.assign(plan.nodes() / 64 + 1, 0);
  nodes_by_room_[0] = plan.nodes();
  build_empty(plan);
  const bool nested_domains = !plan.lone_domains;
  if (nested_domains) domains_.reset(std::vector<std::uint32_t>(plan.domains(), 0), empty_room(Level::domain));
  leaves_.reset(std::vector<std::uint32_t>(plan.leaves(), 0), empty_room(Level::leaf));
  pod_places_.assign(plan.pods(), 0);
  for (std::uint32_t l = 0; l < plan.leaves(); ++l) order_.push_back({UINT32_MAX - l});
  if (kind.gpus != 0) {
    node_free_.assign(plan.nodes(), 0);
    leaf_words_ = plan.leaves() / 64 + 1;
    with_free_.assign(std::size_t{17} * leaf_words_, 0);
    by_free_.assign(plan.leaves(), {});
    whole_.assign(plan.leaves(), 0);
  }
  std::vector<std::uint32_t> all(plan.nodes());
  for (std::uint32_t at = 0; at < plan.nodes(); ++at) all[at] = at;
  refresh(plan, books, all);
}

std::uint32_t Lens::room_at(const Plan& plan, const Books& books, std::uint32_t position) const {
  if (!seen(kind_, plan, books, position)) return 0;
  const std::uint16_t mask = plan.gpus_mask[position], free = books.free[position];
  if (kind_.gpus == 0) return mask != 0 && free == mask ? 1 : 0;
  std::uint32_t gpus = static_cast<std::uint32_t>(std::popcount(free));
  if (kind_.milli < 1000) {
    for (std::uint32_t taken = mask & ~free; taken != 0; taken &= taken - 1) {
      const std::uint32_t used = books.shared[plan.first_gpu[position] + static_cast<std::uint32_t>(std::countr_zero(taken))];
      if (used != 0 && used + kind_.milli <= 1000) ++gpus;
    }
  }
  return gpus / kind_.gpus;
}

void Lens::note_free(const Plan& plan, const Books& books, std::uint32_t position) {
  const std::uint16_t mask = seen(kind_, plan, books, position) ? books.free[position] : std::uint16_t{0};
  const auto now = static_cast<std::uint8_t>(std::popcount(mask));
  const std::uint8_t was = node_free_[position];
  if (now == was) return;
  node_free_[position] = now;
  const std::uint32_t leaf = plan.leaf_of[position];
  const auto full = static_cast<std::uint8_t>(std::popcount(plan.gpus_mask[position]));
  whole_[leaf] += static_cast<std::uint32_t>(now == full) - static_cast<std::uint32_t>(was == full);
  const std::uint64_t bit = std::uint64_t{1} << (leaf % 64);
  if (was != 0 && --by_free_[leaf][was] == 0) with_free_[std::size_t{was} * leaf_words_ + leaf / 64] &= ~bit;
  if (now != 0 && by_free_[leaf][now]++ == 0) with_free_[std::size_t{now} * leaf_words_ + leaf / 64] |= bit;
}

void Lens::refresh(const Plan& plan, const Books& books, std::span<const std::uint32_t> changed) {
  std::uint32_t leaf = kNoGroup;
  std::int64_t change = 0;
  for (const std::uint32_t at : changed) {
    if (kind_.gpus != 0) note_free(plan, books, at);
    const std::uint32_t now = room_at(plan, books, at), was = node_room_[at];
    if (now == was) continue;
    if (plan.leaf_of[at] != leaf) {
      if (leaf != kNoGroup) settle_leaf(plan, leaf, change);
      leaf = plan.leaf_of[at];
      change = 0;
    }
    node_room_[at] = static_cast<std::uint8_t>(now);
    --nodes_by_room_[was];
    ++nodes_by_room_[now];
    const std::uint64_t bit = std::uint64_t{1} << (at % 64);
    with_room_[at / 64] = now != 0 ? with_room_[at / 64] | bit : with_room_[at / 64] & ~bit;
    change += std::int64_t{now} - std::int64_t{was};
    if (domains_.size() > 0) domains_.set(plan.domain_of[at], domains_[plan.domain_of[at]] + now - was);
  }
  if (leaf != kNoGroup) settle_leaf(plan, leaf, change);
}

void Lens::settle_leaf(const Plan& plan, std::uint32_t leaf, std::int64_t change) {
  const std::uint32_t was = leaves_[leaf], s = kind_.segment;
  auto now = static_cast<std::uint32_t>(was + change);
  if (s > 1) {
    std::uint32_t places = 0, over = 0;
    for (std::uint32_t d = plan.leaf_domains[leaf]; d < plan.leaf_domains[leaf + 1]; ++d) {
      const std::uint32_t room = domains_.size() > 0 ? domains_[d] : node_room_[plan.domain_nodes[d]];
      places += room / s;
      over = std::max(over, room % s);
    }
    now = room_of(places, over, s);
  }
  if (now == was) return;
  leaves_.set(leaf, now);
  const std::uint32_t pod = plan.pod_of_leaf[leaf];
  pod_places_[pod] += now / s - was / s;
  core_places_ += std::uint64_t{now / s} - std::uint64_t{was / s};
  const auto entry = [&](std::uint32_t room) { return Entry{(std::uint64_t{room} << 32) | (UINT32_MAX - leaf)}; };
  const auto begin = order_.begin() + plan.pod_leaves[pod], end = order_.begin() + plan.pod_leaves[pod + 1];
  const auto from = std::lower_bound(begin, end, entry(was), std::greater<>());
  const auto to = std::lower_bound(begin, end, entry(now), std::greater<>());
  if (to <= from) {
    std::move_backward(to, from, from + 1);
    *to = entry(now);
  } else {
    std::move(from + 1, to, from);
    *(to - 1) = entry(now);
  }
}

std::uint32_t Lens::node_room_max() const {
  std::uint32_t room = 16;
  while (room > 0 && nodes_by_room_[room] == 0) --room;
  return room;
}

std::uint32_t Lens::pod_room(const Plan& plan, std::uint32_t pod) const {
  std::uint32_t over = 0;
  if (kind_.segment > 1) {
    for (const Entry& e : order(plan, pod)) over = std::max(over, e.room() % kind_.segment);
  }
  return room_of(pod_places_[pod], over, kind_.segment);
}

std::uint32_t Lens::core_room(const Plan& plan) const {
  std::uint32_t over = 0;
  for (std::uint32_t l = 0; kind_.segment > 1 && l < plan.leaves(); ++l) over = std::max(over, leaves_[l] % kind_.segment);
  return room_of(static_cast<std::uint32_t>(core_places_), over, kind_.segment);
}

std::uint32_t Lens::next_with_room(std::uint32_t from, std::uint32_t to) const {
  while (from < to) {
    const std::uint64_t word = with_room_[from / 64] >> (from % 64);
    if (word != 0) return std::min(from + static_cast<std::uint32_t>(std::countr_zero(word)), to);
    from = (from / 64 + 1) * 64;
  }
  return to;
}

void Lens::build_empty(const Plan& plan) {
  const std::uint32_t s = kind_.segment;
  std::vector<std::uint32_t> core, pod;
  for (std::uint32_t l = 0; l < plan.leaves(); ++l) {
    std::uint32_t places = 0, over = 0;
    for (std::uint32_t d = plan.leaf_domains[l]; d < plan.leaf_domains[l + 1]; ++d) {
      std::uint32_t domain = 0;
      for (std::uint32_t at = plan.domain_nodes[d]; at < plan.domain_nodes[d + 1]; ++at) {
        if (!suits(kind_, plan.model[at], plan.pools[at])) continue;
        const auto gpus = static_cast<std::uint32_t>(std::popcount(plan.gpus_mask[at]));
        const std::uint32_t room = kind_.gpus == 0 ? std::min(gpus, 1U) : gpus / kind_.gpus;
        empty_room_[0] = std::max(empty_room_[0], room);
        domain += room;
      }
      empty_room_[1] = std::max(empty_room_[1], domain);
      places += domain / s;
      over = std::max(over, domain % s);
    }
    const std::uint32_t leaf = room_of(places, over, s);
    empty_room_[2] = std::max(empty_room_[2], leaf);
    core.push_back(leaf);
    pod.push_back(leaf);
    if (l + 1 < plan.leaves() && plan.pod_of_leaf[l + 1] == plan.pod_of_leaf[l]) continue;
    const auto most = most_in(std::move(pod), s);
    pod.clear();
    empty_pod_.resize(std::max(empty_pod_.size(), most.size()), empty_pod_.empty() ? 0 : empty_pod_.back());
    for (std::size_t k = 0; k < empty_pod_.size(); ++k) {
      empty_pod_[k] = std::max(empty_pod_[k], most[std::min(k, most.size() - 1)]);
    }
  }
  empty_core_ = most_in(std::move(core), s);
  empty_room_[3] = empty_pod_.empty() ? 0 : empty_pod_.back();
  empty_room_[4] = empty_core_.empty() ? 0 : empty_core_.back();
}

std::uint32_t Lens::empty_leaves(std::uint32_t pieces, Level required) const {
  if (required <= Level::leaf) return 1;
  const auto& most = required == Level::pod ? empty_pod_ : empty_core_;
  return 1 + static_cast<std::uint32_t>(std::lower_bound(most.begin(), most.end(), pieces) - most.begin());
}

}  // namespace muster::decide::place
