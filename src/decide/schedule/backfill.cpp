#include "decide/schedule/backfill.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace muster::decide {
namespace {

// In the second look a gang that would rather be compact takes at most so many times the fewest leaves.
constexpr double kNear = 1.5;

// GPUs that are given back at a time: by a running job, by one started in this pass, or by one that holds a reservation.
struct Release {
  Time at;
  std::uint32_t number = 0;  // for ties
  const Choice* where = nullptr;
  std::uint32_t milli = 1000;
};

bool earlier(const Release& a, const Release& b) { return std::tie(a.at, a.number) < std::tie(b.at, b.number); }

using Masks = std::map<NodeId, std::uint16_t>;

void add(Masks& m, const Choice& c) {
  for (std::size_t i = 0; i < c.nodes.size(); ++i) m[c.nodes[i]] |= c.slots[i];
}

bool touches(const Masks& m, const Choice& c) {
  for (std::size_t i = 0; i < c.nodes.size(); ++i) {
    const auto it = m.find(c.nodes[i]);
    if (it != m.end() && (it->second & c.slots[i]) != 0) return true;
  }
  return false;
}

// One pass. The tree is at `base_` (what runs, and what was started here) or, between hold() and drop(), has the free GPUs of the
// first `held_` reservations in order of time taken too.
class Backfill {
 public:
  Backfill(Tree& tree, std::span<const Waiter> waiting, std::span<const Runner> running, Time now, const BackfillPolicy& policy)
      : tree_(tree), waiting_(waiting), running_(running), now_(now), policy_(policy) {}

  Pass run(std::span<const Ranked> order);

 private:
  enum class Fit : std::uint8_t { any, near, compact };
  std::optional<Choice> fit(const Waiter& w, Fit how);
  std::optional<Choice> find(const Waiter& w, std::size_t held, Fit how);
  bool look(const Ranked& r);  // starts it where it fits
  void reserve_for(const Ranked& r);
  void look_at(std::span<const Ranked> equals);
  void start(const Ranked& r, Choice choice);
  std::vector<std::pair<NodeId, std::uint16_t>> apart() const;
  void make_due();
  Reservation reserve(std::uint32_t index);
  void hold(std::size_t count);
  void drop();

  Tree& tree_;
  std::span<const Waiter> waiting_;
  std::span<const Runner> running_;
  Time now_;
  const BackfillPolicy& policy_;
  Pass pass_;
  std::vector<std::uint32_t> due_;                  // who is to get a reservation, in rank order: made when it first matters
  std::vector<std::size_t> by_time_;                // reservations with a time, earliest first
  std::vector<Release> started_;                    // sorted
  std::map<std::size_t, std::set<Shape>> refused_;  // by how many reservations were held
  std::vector<Ranked> spread_;                      // fit, but not compactly; and longer runs behind them
  std::uint32_t looked_ = 0;
  std::size_t held_ = 0;
  std::size_t mark_ = 0;
};

void Backfill::hold(std::size_t count) {
  if (held_ == count) return;
  drop();
  if (count == 0) return;
  mark_ = tree_.mark();
  held_ = count;
  for (std::size_t i = 0; i < count; ++i) {
    const Reservation& r = pass_.reservations[by_time_[i]];
    const std::uint32_t milli = waiting_[r.index].shape.milli;
    for (std::size_t n = 0; n < r.choice.nodes.size(); ++n) {
      const auto free = static_cast<std::uint16_t>(tree_.free_slots(r.choice.nodes[n]) & r.choice.slots[n]);
      if (free != 0) tree_.take(r.choice.nodes[n], free, milli);
    }
  }
}

void Backfill::drop() {
  if (held_ > 0) tree_.rollback(mark_);
  held_ = 0;
}

// What did not fit beside fewer reservations does not fit beside more, and what did not fit before a start does not fit after it.
std::optional<Choice> Backfill::find(const Waiter& w, std::size_t held, Fit how) {
  const Shape* shapes[] = {&w.shape, w.or_else ? &*w.or_else : nullptr};
  for (const Shape* s : shapes) {
    if (s == nullptr) continue;
    bool no = false;
    for (const auto& [count, set] : refused_) {
      if (count <= held && set.count(*s) != 0) no = true;
    }
    if (no) continue;
    if (pass_.tries >= policy_.tries_max) {
      pass_.cut = true;
      return std::nullopt;
    }
    ++pass_.tries;
    hold(held);
    if (auto c = tree_.find(*s)) {
      const double most = (how == Fit::compact ? 1 : kNear) * c->certificate.leaves_empty;
      if (how == Fit::any || c->certificate.leaves <= most) return c;
      continue;
    }
    refused_[held].insert(*s);
  }
  return std::nullopt;
}

std::optional<Choice> Backfill::fit(const Waiter& w, Fit how) {
  auto free = find(w, 0, how);
  if (!free) return free;
  if (!due_.empty()) make_due();
  const Time end = now_ + w.expected;
  std::size_t before = 0;  // reservations that it would still be running at
  while (before < by_time_.size() && pass_.reservations[by_time_[before]].at < end) ++before;
  return before == 0 ? free : find(w, before, how);
}

std::vector<std::pair<NodeId, std::uint16_t>> Backfill::apart() const {
  Masks m;
  for (std::size_t i = 0; i < held_; ++i) add(m, pass_.reservations[by_time_[i]].choice);
  return {m.begin(), m.end()};
}

void Backfill::start(const Ranked& r, Choice choice) {
  auto kept = apart();
  drop();
  std::erase_if(kept,
                [&](auto& k) { return (k.second = static_cast<std::uint16_t>(k.second & tree_.free_slots(k.first))) == 0; });
  const Waiter& w = waiting_[r.index];
  tree_.take(choice, w.shape.milli);
  const bool ahead = !pass_.reservations.empty() || !due_.empty() || !spread_.empty();
  pass_.starts.push_back({w.id, r.index, std::move(choice), ahead, std::move(kept)});
}

void Backfill::make_due() {
  drop();
  started_.clear();
  for (const Start& s : pass_.starts) {
    started_.push_back({now_ + waiting_[s.index].expected, s.index, &s.choice, waiting_[s.index].shape.milli});
  }
  std::sort(started_.begin(), started_.end(), earlier);
  for (const std::uint32_t index : due_) {
    pass_.reservations.push_back(reserve(index));
    const Time at = pass_.reservations.back().at;
    if (at == kNever) continue;
    const auto later =
        std::find_if(by_time_.begin(), by_time_.end(), [&](std::size_t i) { return pass_.reservations[i].at > at; });
    by_time_.insert(later, pass_.reservations.size() - 1);
  }
  due_.clear();
  std::erase_if(refused_, [](const auto& e) { return e.first > 0; });  // other reservations, other refusals
}

// The future of the tree, for one reservation: what ends is given back, in order of time; GPUs reserved before count as taken
// from the moment they are free until that job's expected end. Leaves the tree as it was.
class Future {
 public:
  Future(Tree& tree, std::span<const Runner> running, std::span<const Release> started, std::vector<Release> reserved)
      : tree_(tree), running_(running), started_(started), reserved_(std::move(reserved)), mark_(tree.mark()) {
    std::sort(reserved_.begin(), reserved_.end(), earlier);
    for (const Release& r : reserved_) add(pending_, *r.where);
    for (auto& [n, mask] : pending_) claim(n, mask);
  }
  ~Future() { tree_.rollback(mark_); }
  Future(const Future&) = delete;
  Future& operator=(const Future&) = delete;

  // To the next moment at which something ends; kNever when nothing does any more.
  Time step() {
    Time t = kNever;
    if (a_ < running_.size()) t = std::min(t, running_[a_].expected_end);
    if (b_ < started_.size()) t = std::min(t, started_[b_].at);
    if (c_ < reserved_.size()) t = std::min(t, reserved_[c_].at);
    if (t == kNever) return t;
    for (; a_ < running_.size() && running_[a_].expected_end <= t; ++a_) give(*running_[a_].where, running_[a_].milli);
    for (; b_ < started_.size() && started_[b_].at <= t; ++b_) give(*started_[b_].where, started_[b_].milli);
    for (; c_ < reserved_.size() && reserved_[c_].at <= t; ++c_) unclaim(c_);
    return t;
  }
  std::span<const Runner> ended() const { return running_.first(a_); }

 private:
  void claim(NodeId n, std::uint16_t& pending) {
    const auto free = static_cast<std::uint16_t>(tree_.free_slots(n) & pending);
    if (free == 0) return;
    tree_.take(n, free);
    claimed_[n] |= free;
    pending = static_cast<std::uint16_t>(pending & ~free);
  }
  void give(const Choice& where, std::uint32_t milli) {
    tree_.give(where, milli);
    if (pending_.empty()) return;
    for (const NodeId n : where.nodes) {
      if (const auto it = pending_.find(n); it != pending_.end()) claim(n, it->second);
    }
  }
  // Of a reservation that has run its time. Later ones may want the same GPUs.
  void unclaim(std::size_t ended) {
    const Choice& where = *reserved_[ended].where;
    for (std::size_t i = 0; i < where.nodes.size(); ++i) {
      const NodeId n = where.nodes[i];
      const auto mine = static_cast<std::uint16_t>(claimed_[n] & where.slots[i]);
      if (mine != 0) tree_.give(n, mine);
      claimed_[n] = static_cast<std::uint16_t>(claimed_[n] & ~mine);
    }
    pending_.clear();
    for (std::size_t r = ended + 1; r < reserved_.size(); ++r) add(pending_, *reserved_[r].where);
    for (auto& [n, mask] : pending_) {
      mask = static_cast<std::uint16_t>(mask & ~claimed_[n]);
      claim(n, mask);
    }
  }

  Tree& tree_;
  std::span<const Runner> running_;
  std::span<const Release> started_;
  std::vector<Release> reserved_;
  std::size_t mark_;
  Masks pending_;  // reserved, not free yet
  Masks claimed_;  // reserved, and free by now: taken
  std::size_t a_ = 0, b_ = 0, c_ = 0;
};

Reservation Backfill::reserve(std::uint32_t index) {
  const Waiter& w = waiting_[index];
  Reservation out;
  out.id = w.id;
  out.index = index;
  std::vector<Release> reserved;
  for (const std::size_t i : by_time_) {
    const Reservation& r = pass_.reservations[i];
    reserved.push_back({r.at + waiting_[r.index].expected, r.index, &r.choice, waiting_[r.index].shape.milli});
  }
  Future future(tree_, running_, started_, std::move(reserved));
  for (Time t = future.step(); t != kNever; t = future.step()) {
    for (const Shape* s : {&w.shape, w.or_else ? &*w.or_else : nullptr}) {
      if (s == nullptr || !tree_.may_fit(*s)) continue;
      ++pass_.tries;
      auto choice = tree_.find(*s);
      if (!choice) continue;
      out.choice = std::move(*choice);
      out.at = std::max(t, now_);
      break;
    }
    if (out.at != kNever) break;
  }
  if (out.at == kNever) return out;
  Masks mine;
  add(mine, out.choice);
  for (const Runner& r : future.ended()) {
    if (touches(mine, *r.where)) out.after.push_back(r.id);
  }
  std::sort(out.after.begin(), out.after.end());
  return out;
}

bool Backfill::look(const Ranked& r) {
  auto choice = fit(waiting_[r.index], waiting_[r.index].compact ? Fit::near : Fit::any);
  if (!choice) return false;
  start(r, std::move(*choice));
  return true;
}

void Backfill::reserve_for(const Ranked& r) {
  if (r.band != Band::paused && pass_.reservations.size() + due_.size() < policy_.reserve) due_.push_back(r.index);
}

// Those of one band and priority, twice: nobody of lower priority passes for the sake of a better fit.
void Backfill::look_at(std::span<const Ranked> equals) {
  spread_.clear();
  for (const Ranked& r : equals) {
    if (looked_++ >= policy_.depth || pass_.cut) {
      pass_.cut = true;
      break;
    }
    const Waiter& w = waiting_[r.index];
    if (!spread_.empty() && w.expected > policy_.pass_max) {
      spread_.push_back(r);
    } else if (w.compact) {
      if (auto choice = fit(w, Fit::compact)) {
        start(r, std::move(*choice));
      } else if (fit(w, Fit::near)) {
        spread_.push_back(r);
      } else {
        reserve_for(r);
      }
    } else if (!look(r)) {
      reserve_for(r);
    }
  }
  for (const Ranked& r : spread_) {
    if (!pass_.cut && !look(r)) reserve_for(r);
  }
  spread_.clear();
}

Pass Backfill::run(std::span<const Ranked> order) {
  for (std::size_t i = 0; i < order.size() && !pass_.cut;) {
    const auto standing = [&](std::size_t k) {
      const Waiter& w = waiting_[order[k].index];
      return std::tuple(order[k].band, w.entitled, w.priority);
    };
    std::size_t j = i + 1;
    while (j < order.size() && standing(j) == standing(i)) ++j;
    look_at(order.subspan(i, j - i));
    i = j;
  }
  if (policy_.always_reserve) make_due();
  drop();
  return std::move(pass_);
}

}  // namespace

Pass backfill(Tree& tree, std::span<const Waiter> waiting, std::span<const Ranked> order, std::span<const Runner> running,
              Time now, const BackfillPolicy& policy) {
  return Backfill(tree, waiting, running, now, policy).run(order);
}

}  // namespace muster::decide
