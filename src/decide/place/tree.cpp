// Occupancy, marks, and the lenses that searches look through.
#include "decide/place/tree.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "decide/place/search.h"

namespace muster::decide {
namespace {

// More kinds of pieces than this at once, and the one not asked for longest is forgotten; asking again costs one pass over the
// nodes. What find() answers does not depend on it.
constexpr std::size_t kLenses = 32;

std::uint8_t bit_of(std::uint8_t side) { return static_cast<std::uint8_t>(1U << side); }
std::uint32_t bits(std::uint16_t mask) { return static_cast<std::uint32_t>(std::popcount(mask)); }

}  // namespace

using place::Kind;
using place::Lens;
using place::Sight;

Tree::Tree(const Layout& layout) : plan_(std::make_shared<const place::Plan>(layout)) {
  const std::uint32_t count = plan_->nodes();
  books_.free = plan_->gpus_mask;
  books_.open.assign(count, bit_of(0));
  books_.cost.assign(count, 0);
  books_.side.assign(count, 0);
  books_.shared.assign(plan_->gpus, 0);
  free_gpus_ = plan_->gpus;
  for (const std::uint16_t mask : plan_->gpus_mask) free_nodes_ += mask != 0 ? 1 : 0;
}

void Tree::note(Act act, std::uint32_t position, std::uint16_t slots, std::uint32_t milli, std::uint8_t old_cost) {
  if (!marks_.empty()) undo_.push_back({act, old_cost, slots, static_cast<std::uint16_t>(milli), position});
}

void Tree::set_free(std::uint32_t position, std::uint16_t now) {
  const std::uint16_t was = books_.free[position], mask = plan_->gpus_mask[position];
  books_.free[position] = now;
  if (books_.open[position] != 0) {
    free_gpus_ += bits(now) - bits(was);
    free_nodes_ += static_cast<std::uint32_t>(now == mask) - static_cast<std::uint32_t>(was == mask);
  }
  touch(position);
}

void Tree::touch(std::uint32_t position) {
  if (changed_.size() >= std::max<std::size_t>(4096, std::size_t{2} * plan_->nodes())) {
    const std::size_t half = changed_.size() / 2;
    changed_.erase(changed_.begin(), changed_.begin() + static_cast<std::ptrdiff_t>(half));
    changes_before_ += half;
  }
  changed_.push_back(position);
}

// Moves `milli` thousandths of one GPU, positive to take. A GPU is in shared_ while something of it is taken and something left.
void Tree::share(std::uint32_t position, std::uint32_t slot, std::int32_t milli) {
  const auto bit = static_cast<std::uint16_t>(1U << slot);
  std::uint16_t& used = books_.shared[plan_->first_gpu[position] + slot];
  const bool was_free = (books_.free[position] & bit) != 0;
  const std::int32_t now = used + milli;
  MUSTER_CHECK(now >= 0 && now <= 1000 && (used > 0 || (was_free && milli > 0)));
  const auto entry = [&](std::int32_t taken) { return SharedGpu{static_cast<std::uint16_t>(1000 - taken), position, slot}; };
  if (used > 0 && used < 1000) shared_.erase(std::lower_bound(shared_.begin(), shared_.end(), entry(used)));
  if (now > 0 && now < 1000) shared_.insert(std::lower_bound(shared_.begin(), shared_.end(), entry(now)), entry(now));
  sharing_ += static_cast<std::uint32_t>(now > 0) - static_cast<std::uint32_t>(used > 0);
  used = static_cast<std::uint16_t>(now);
  const std::uint16_t free = books_.free[position];
  set_free(position, static_cast<std::uint16_t>(now == 0 ? free | bit : free & ~bit));
}

void Tree::apply_take(std::uint32_t position, std::uint16_t slots, std::uint32_t milli) {
  if (milli == 1000) {
    MUSTER_CHECK((books_.free[position] & slots) == slots);
    set_free(position, static_cast<std::uint16_t>(books_.free[position] & ~slots));
    return;
  }
  for (std::uint32_t left = slots; left != 0; left &= left - 1) {
    share(position, static_cast<std::uint32_t>(std::countr_zero(left)), static_cast<std::int32_t>(milli));
  }
}

void Tree::apply_give(std::uint32_t position, std::uint16_t slots, std::uint32_t milli) {
  MUSTER_CHECK((plan_->gpus_mask[position] & slots) == slots);
  if (milli == 1000) {
    MUSTER_CHECK((books_.free[position] & slots) == 0);
    if (sharing_ > 0) {
      for (std::uint32_t left = slots; left != 0; left &= left - 1) {
        MUSTER_CHECK(books_.shared[plan_->first_gpu[position] + static_cast<std::uint32_t>(std::countr_zero(left))] == 0);
      }
    }
    set_free(position, static_cast<std::uint16_t>(books_.free[position] | slots));
    return;
  }
  for (std::uint32_t left = slots; left != 0; left &= left - 1) {
    share(position, static_cast<std::uint32_t>(std::countr_zero(left)), -static_cast<std::int32_t>(milli));
  }
}

void Tree::apply_open(std::uint32_t position, bool open) {
  const std::uint16_t free = books_.free[position];
  const std::uint32_t whole = free != 0 && free == plan_->gpus_mask[position] ? 1 : 0;
  books_.open[position] = open ? bit_of(books_.side[position]) : std::uint8_t{0};
  free_gpus_ += open ? bits(free) : 0 - bits(free);
  free_nodes_ += open ? whole : 0 - whole;
  touch(position);
}

void Tree::take(NodeId n, std::uint16_t slots, std::uint32_t milli) {
  MUSTER_CHECK(n.v < nodes() && milli > 0 && milli <= 1000);
  const std::uint32_t at = plan_->position_of[n.v];
  apply_take(at, slots, milli);
  note(Act::take, at, slots, milli);
}

void Tree::give(NodeId n, std::uint16_t slots, std::uint32_t milli) {
  MUSTER_CHECK(n.v < nodes() && milli > 0 && milli <= 1000);
  const std::uint32_t at = plan_->position_of[n.v];
  apply_give(at, slots, milli);
  note(Act::give, at, slots, milli);
}

void Tree::take(const Choice& c, std::uint32_t milli) {
  for (std::size_t i = 0; i < c.nodes.size(); ++i) take(c.nodes[i], c.slots[i], milli);
}

void Tree::give(const Choice& c, std::uint32_t milli) {
  for (std::size_t i = 0; i < c.nodes.size(); ++i) give(c.nodes[i], c.slots[i], milli);
}

void Tree::close(NodeId n) {
  MUSTER_CHECK(n.v < nodes());
  const std::uint32_t at = plan_->position_of[n.v];
  if (books_.open[at] == 0) return;
  apply_open(at, false);
  note(Act::close, at);
}

void Tree::open(NodeId n) {
  MUSTER_CHECK(n.v < nodes());
  const std::uint32_t at = plan_->position_of[n.v];
  if (books_.open[at] != 0) return;
  apply_open(at, true);
  note(Act::open, at);
}

bool Tree::is_open(NodeId n) const {
  MUSTER_CHECK(n.v < nodes());
  return books_.open[plan_->position_of[n.v]] != 0;
}

std::uint8_t Tree::cost(NodeId n) const {
  MUSTER_CHECK(n.v < nodes());
  return books_.cost[plan_->position_of[n.v]];
}

void Tree::set_cost(NodeId n, std::uint8_t cost) {
  MUSTER_CHECK(n.v < nodes());
  std::uint8_t& kept = books_.cost[plan_->position_of[n.v]];
  if (kept == cost) return;
  note(Act::cost, plan_->position_of[n.v], 0, 0, kept);
  costly_ += static_cast<std::uint32_t>(cost != 0) - static_cast<std::uint32_t>(kept != 0);
  kept = cost;
}

void Tree::set_side(NodeId n, std::uint8_t side) {
  MUSTER_CHECK(n.v < nodes() && side < kSides);
  const std::uint32_t at = plan_->position_of[n.v];
  if (books_.side[at] == side) return;
  books_.side[at] = side;
  if (books_.open[at] != 0) books_.open[at] = bit_of(side);
  touch(at);
}

std::uint8_t Tree::side(NodeId n) const {
  MUSTER_CHECK(n.v < nodes());
  return books_.side[plan_->position_of[n.v]];
}

std::size_t Tree::mark() {
  marks_.push_back(undo_.size());
  return marks_.size() - 1;
}

void Tree::rollback(std::size_t mark) {
  MUSTER_CHECK(mark < marks_.size());
  while (undo_.size() > marks_[mark]) {
    const Change c = undo_.back();
    undo_.pop_back();
    switch (c.act) {
      case Act::take: apply_give(c.position, c.slots, c.milli); break;
      case Act::give: apply_take(c.position, c.slots, c.milli); break;
      case Act::close: apply_open(c.position, true); break;
      case Act::open: apply_open(c.position, false); break;
      case Act::cost: {
        std::uint8_t& kept = books_.cost[c.position];
        costly_ += static_cast<std::uint32_t>(c.old_cost != 0) - static_cast<std::uint32_t>(kept != 0);
        kept = c.old_cost;
        break;
      }
    }
  }
  marks_.resize(mark);
}

void Tree::release(std::size_t mark) {
  MUSTER_CHECK(mark < marks_.size());
  marks_.resize(mark);
  if (marks_.empty()) undo_.clear();
}

const Lens& Tree::lens_for(const Kind& kind) const {
  const std::uint64_t now = changes_before_ + changed_.size();
  ++asked_;
  auto it = std::find_if(lenses_.begin(), lenses_.end(), [&](const Kept& k) { return k.lens.kind() == kind; });
  if (it == lenses_.end()) {
    if (lenses_.size() == kLenses) {
      lenses_.erase(
          std::min_element(lenses_.begin(), lenses_.end(), [](const Kept& a, const Kept& b) { return a.asked < b.asked; }));
    }
    lenses_.push_back({Lens(*plan_, books_, kind), now, asked_});
    return lenses_.back().lens;
  }
  it->asked = asked_;
  if (it->seen < changes_before_ || now - it->seen > plan_->nodes()) {
    it->lens = Lens(*plan_, books_, kind);
  } else if (it->seen < now) {
    const std::size_t from = it->seen - changes_before_;
    it->lens.refresh(*plan_, books_, {changed_.data() + from, changed_.size() - from});
  }
  it->seen = now;
  return it->lens;
}

bool Tree::sensible(const Shape& shape) const {
  if (shape.pieces == 0 || shape.gpus > 16 || shape.milli == 0 || shape.milli > 1000) return false;
  return shape.milli == 1000 || shape.gpus == 1;
}

// A share of a GPU goes where the least of a GPU is left over afterwards: on one that is shared already if any has enough. Else
// a whole GPU is broken, chosen as for a job of one GPU.
std::optional<Choice> Tree::find_shared(const Shape& shape) const {
  const SharedGpu* best = nullptr;
  const SharedGpu wanted{static_cast<std::uint16_t>(shape.milli), 0, 0};
  for (auto it = std::lower_bound(shared_.begin(), shared_.end(), wanted); it != shared_.end(); ++it) {
    const std::uint32_t at = it->position;
    if ((books_.open[at] & shape.sides) == 0 || !suits(shape, plan_->model[at], plan_->pools[at])) continue;
    if (best == nullptr || books_.cost[at] < books_.cost[best->position]) best = &*it;
    if (books_.cost[best->position] == 0) break;
  }
  Shape whole = shape;
  whole.milli = 1000;
  if (best == nullptr) return find(whole);
  Choice out;
  out.nodes.push_back({plan_->node_at[best->position]});
  out.slots.push_back(static_cast<std::uint16_t>(1U << best->slot));
  out.certificate.group = out.nodes[0].v;
  out.certificate.leaves = out.certificate.leaves_min = out.certificate.leaves_empty = 1;
  return out;
}

bool Tree::spans_sides(const Shape& shape) const {
  return apart_ != 0 && shape.pieces > 1 && (shape.sides & apart_) != 0 && (shape.sides & ~apart_) != 0 &&
         (shape.sides & ~together_) != 0;
}

// The part where it is put together better. Where both are as good it is `apart_`: nodes that have the new version, or the fewer
// of half-way domains, which other gangs have the least use for.
std::optional<Choice> Tree::find_apart(const Shape& shape) const {
  Shape one = shape;
  one.sides = shape.sides & apart_;
  auto part = find(one);
  one.sides = static_cast<std::uint8_t>(shape.sides & ~apart_);
  auto rest = find(one);
  if (!part || !rest) return part ? part : rest;
  const auto key = [](const Choice& c) { return std::pair(c.certificate.level, c.certificate.leaves); };
  return key(*rest) < key(*part) ? rest : part;
}

std::optional<Choice> Tree::find(const Shape& shape) const {
  if (!sensible(shape)) return std::nullopt;
  if (spans_sides(shape)) return find_apart(shape);
  if (shape.milli < 1000 && shape.pieces == 1) return find_shared(shape);
  return place::search(Sight{*plan_, books_, lens_for(place::kind_of(shape)), costly_ > 0}, shape);
}

bool Tree::may_fit(const Shape& shape) const {
  if (!sensible(shape)) return false;
  if (shape.milli < 1000 && shape.pieces == 1) return find_shared(shape).has_value();
  if (spans_sides(shape)) {
    Shape part = shape, rest = shape;
    part.sides &= apart_;
    rest.sides = static_cast<std::uint8_t>(rest.sides & ~apart_);
    return may_fit(part) || may_fit(rest);
  }
  const std::uint64_t gpus = std::uint64_t{shape.pieces} * std::max(shape.gpus, 1U);
  if (shape.milli == 1000 && (gpus > free_gpus_ || (shape.gpus == 0 && shape.pieces > free_nodes_))) return false;
  return place::has_room(Sight{*plan_, books_, lens_for(place::kind_of(shape)), costly_ > 0}, shape);
}

bool Tree::ever_fits(const Shape& shape) const {
  if (!sensible(shape)) return false;
  return lens_for(place::kind_of(shape)).empty_room(shape.required) >= shape.pieces;
}

std::uint32_t Tree::nodes() const { return plan_->nodes(); }
std::uint32_t Tree::free_gpus() const { return free_gpus_; }
std::uint32_t Tree::free_nodes() const { return free_nodes_; }

std::uint32_t Tree::free_slots(NodeId n) const {
  MUSTER_CHECK(n.v < nodes());
  return books_.free[plan_->position_of[n.v]];
}

Occupancy Tree::occupancy() const {
  Occupancy out;
  for (std::uint32_t n = 0; n < nodes(); ++n) {
    const std::uint32_t at = plan_->position_of[n];
    Occupancy::Node node{books_.free[at], books_.open[at] != 0, books_.cost[at], {}};
    for (std::uint32_t g = 0; g < bits(plan_->gpus_mask[at]); ++g) {
      const std::uint16_t used = books_.shared[plan_->first_gpu[at] + g];
      node.taken.push_back((node.free >> g & 1) != 0 ? 0 : used != 0 ? used : 1000);
    }
    out.nodes.push_back(std::move(node));
  }
  return out;
}

}  // namespace muster::decide
