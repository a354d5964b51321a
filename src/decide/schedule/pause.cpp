#include "decide/schedule/pause.h"

#include <algorithm>
#include <tuple>

namespace muster::decide {
namespace {

struct Victim {
  std::uint32_t index;  // into the running jobs
  bool small;           // fills no node: after those that do, which free more at once
  bool used = false;
};

Duration limit_of(const Pausable& p, const PausePolicy& policy) {
  if (p.gpus <= 1) return policy.single_max;
  return p.gpus == policy.node_gpus ? policy.node_max : policy.other_max;
}

// How long it may still be paused; zero: not at all.
Duration length_of(const Pausable& p, const PausePolicy& policy) {
  if (p.ran < policy.ran_min || (p.paused_before.ns > 0 && p.ran_since < policy.ran_min)) return {};
  Duration left = limit_of(p, policy) - p.paused_before;
  if (p.gpus > 1) left = left - p.waited;
  return left < policy.length_min ? Duration{} : left;
}

// How long a job must have waited before it may ask.
Duration wait_of(const Waiter& w, const PausePolicy& policy) {
  const double s = w.expected.seconds();
  const double unit = std::max(policy.wait_unit.seconds(), 1.0);
  return s * s / unit >= policy.wait_max.seconds() ? policy.wait_max : from_seconds(s * s / unit);
}

class Choosing {
 public:
  Choosing(Tree& tree, std::span<const Waiter> waiting, std::span<const Pausable> running, Time now, const PausePolicy& policy)
      : tree_(tree), waiting_(waiting), running_(running), now_(now), policy_(policy) {}

  Pauses run(std::span<const Ranked> order);

 private:
  bool may_ask(const Ranked& r) const;
  bool serves(const Victim& v, const Waiter& w, bool due) const;
  std::optional<Choice> find(const Waiter& w);
  std::optional<Choice> with_one(const Waiter& w, bool due, std::vector<std::size_t>& chosen);
  std::optional<Choice> with_several(const Waiter& w, bool due, std::vector<std::size_t>& chosen);
  void give(std::size_t victim);

  Tree& tree_;
  std::span<const Waiter> waiting_;
  std::span<const Pausable> running_;
  Time now_;
  const PausePolicy& policy_;
  std::vector<Victim> victims_;
  std::uint32_t tries_ = 0;
  Pauses out_;
};

bool Choosing::may_ask(const Ranked& r) const {
  const Waiter& w = waiting_[r.index];
  if (r.band == Band::paused) return false;
  return r.band == Band::returning || (now_ - w.queued) + w.waited_before >= wait_of(w, policy_);
}

bool Choosing::serves(const Victim& v, const Waiter& w, bool due) const {
  const Pausable& p = running_[v.index];
  if (v.used || p.priority > w.priority) return false;
  if (!due && p.ran.seconds() < policy_.ratio * w.expected.seconds()) return false;
  const Duration since = w.paused_until.ns == INT64_MIN ? (now_ - w.queued) + w.waited_before : now_ - w.paused_until;
  return p.lost.seconds() <= policy_.lost_max.seconds() + policy_.lost_part * std::max(since.seconds(), 0.0);
}

std::optional<Choice> Choosing::find(const Waiter& w) {
  for (const Shape* s : {&w.shape, w.or_else ? &*w.or_else : nullptr}) {
    if (s == nullptr || !tree_.may_fit(*s)) continue;
    ++tries_;
    if (auto c = tree_.find(*s)) return c;
  }
  return std::nullopt;
}

void Choosing::give(std::size_t victim) {
  const Pausable& p = running_[victims_[victim].index];
  tree_.give(*p.where, p.milli);
}

std::optional<Choice> Choosing::with_one(const Waiter& w, bool due, std::vector<std::size_t>& chosen) {
  for (std::size_t v = 0; v < victims_.size() && tries_ < policy_.tries_max; ++v) {
    const Pausable& p = running_[victims_[v].index];
    if (p.gpus < w.gpus || !serves(victims_[v], w, due)) continue;
    const std::size_t mark = tree_.mark();
    give(v);
    auto choice = find(w);
    tree_.rollback(mark);
    if (!choice) continue;
    chosen = {v};
    return choice;
  }
  return std::nullopt;
}

// In their order until the gang fits; then those that it fits without are left alone, last first.
std::optional<Choice> Choosing::with_several(const Waiter& w, bool due, std::vector<std::size_t>& chosen) {
  if (w.gpus <= 1) return std::nullopt;
  std::uint64_t gpus = tree_.free_gpus();
  for (const Victim& v : victims_) gpus += serves(v, w, due) ? running_[v.index].gpus : 0;
  if (gpus < w.gpus) return std::nullopt;
  const std::size_t mark = tree_.mark();
  std::optional<Choice> choice;
  for (std::size_t v = 0; v < victims_.size() && !choice && tries_ < policy_.tries_max; ++v) {
    if (!serves(victims_[v], w, due)) continue;
    give(v);
    chosen.push_back(v);
    choice = find(w);
  }
  for (std::size_t i = chosen.size(); choice && i-- > 0 && chosen.size() > 1 && tries_ < policy_.tries_max;) {
    const Pausable& p = running_[victims_[chosen[i]].index];
    tree_.take(*p.where, p.milli);
    if (auto without = find(w)) {
      choice = std::move(without);
      chosen.erase(chosen.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      give(chosen[i]);
    }
  }
  tree_.rollback(mark);
  return choice;
}

Pauses Choosing::run(std::span<const Ranked> order) {
  for (std::uint32_t i = 0; i < running_.size(); ++i) {
    if (length_of(running_[i], policy_).ns > 0) victims_.push_back({i, running_[i].gpus < policy_.node_gpus});
  }
  std::sort(victims_.begin(), victims_.end(), [&](const Victim& a, const Victim& b) {
    const Pausable& x = running_[a.index];
    const Pausable& y = running_[b.index];
    return std::tie(a.small, y.ran, x.id) < std::tie(b.small, x.ran, y.id);
  });
  if (victims_.empty()) return {};
  for (const Ranked& r : order) {
    if (tries_ >= policy_.tries_max) break;
    if (!may_ask(r)) continue;
    const Waiter& w = waiting_[r.index];
    const bool due = r.band == Band::returning || r.band == Band::overdue;
    std::vector<std::size_t> chosen;
    auto choice = find(w);
    if (!choice) choice = with_one(w, due, chosen);
    if (!choice) choice = with_several(w, due, chosen);
    if (!choice) continue;
    for (const std::size_t v : chosen) {
      const Pausable& p = running_[victims_[v].index];
      victims_[v].used = true;
      give(v);
      out_.pauses.push_back({p.id, victims_[v].index, w.id, p.lost, length_of(p, policy_)});
    }
    tree_.take(*choice, w.shape.milli);
    out_.starts.push_back({w.id, r.index, std::move(*choice), false});
  }
  return std::move(out_);
}

}  // namespace

Pauses choose_pauses(Tree& tree, std::span<const Waiter> waiting, std::span<const Ranked> order,
                     std::span<const Pausable> running, Time now, const PausePolicy& policy,
                     std::span<const Reservation> reserved) {
  // Held while choosing, given back after: what was chosen takes none of them.
  std::vector<std::tuple<NodeId, std::uint16_t>> held;
  for (const Reservation& r : reserved) {
    for (std::size_t i = 0; i < r.choice.nodes.size(); ++i) {
      const auto free = static_cast<std::uint16_t>(tree.free_slots(r.choice.nodes[i]) & r.choice.slots[i]);
      if (free == 0) continue;
      tree.take(r.choice.nodes[i], free);
      held.emplace_back(r.choice.nodes[i], free);
    }
  }
  Pauses out = Choosing(tree, waiting, running, now, policy).run(order);
  for (const auto& [node, slots] : held) tree.give(node, slots);
  return out;
}

}  // namespace muster::decide
