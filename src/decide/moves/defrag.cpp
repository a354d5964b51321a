#include "decide/moves/defrag.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/check.h"

namespace muster::decide {
namespace {

double gpu_hours(std::uint64_t milli_gpus, double s) { return static_cast<double>(milli_gpus) / 1000 * std::max(0.0, s) / 3600; }

// A plan's worth: GPU-hours won less those spent.
double net(const Defrag& d) { return d.gain_gpu_h - d.cost_gpu_h; }

class Defragmenter {
 public:
  Defragmenter(Tree& tree, const Layout& layout, std::span<const Gang> running, const DefragRules& rules)
      : tree_(tree), layout_(layout), rules_(rules), tries_left_(rules.tries) {
    for (const Gang& g : running) {
      if (!g.nodes.empty() && g.since_checkpoint_s <= rules.fresh_s) movable_.push_back(&g);
    }
    std::sort(movable_.begin(), movable_.end(), [](const Gang* a, const Gang* b) {
      return std::tuple(a->loss_gpu_ms(), a->id) < std::tuple(b->loss_gpu_ms(), b->id);
    });
  }

  std::optional<Defrag> plan(std::span<const Waiting> waiting) {
    for (const Waiting& w : waiting.first(std::min<std::size_t>(waiting.size(), rules_.waiting_max))) {
      if (tree_.ever_fits(w.shape) && !tree_.find(w.shape)) look(w);
    }
    return std::move(best_);
  }

 private:
  // Gangs moved for a waiting one have part in one group of the level it must share: room elsewhere does not help it.
  void look(const Waiting& w) {
    const Level level = w.shape.pieces == 1 ? Level::node : w.shape.required;
    std::map<std::uint32_t, std::vector<const Gang*>> groups;
    for (const Gang* g : movable_) {
      std::vector<std::uint32_t> numbers;
      for (const NodeId n : g->nodes) numbers.push_back(group_of(layout_, n, level));
      std::sort(numbers.begin(), numbers.end());
      numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
      for (const std::uint32_t k : numbers) groups[k].push_back(g);
    }
    for (const auto& [number, gangs] : groups) {
      if (tries_left_ == 0) return;
      const std::size_t mark = tree_.mark();
      for (const Gang* g : gangs) give(tree_, *g);
      const bool possible = fits(w.shape).has_value();
      tree_.rollback(mark);
      std::vector<const Gang*> chosen;
      if (possible) choose(w, gangs, chosen, 0);
    }
  }

  std::optional<Choice> fits(const Shape& shape) {
    if (tries_left_ == 0) return std::nullopt;
    --tries_left_;
    return tree_.find(shape);
  }

  double start_gain(const Waiting& w) const { return gpu_hours(w.milli_gpus, std::min({w.wait_s, w.run_s, rules_.horizon_s})); }
  double leaf_hours(const Gang& g, std::uint32_t leaves) const {
    return leaves * rules_.slowdown_per_leaf * gpu_hours(g.milli_gpus(), g.remaining_s);
  }
  bool worth(double gain, double cost) const { return gain > cost * (1 + rules_.margin); }

  // All sets of up to moves_max, the cheapest first; a set whose cost is too high even if all went to one leaf has no worthwhile
  // superset in `from` on, since each further gang is no cheaper, unless leaves count.
  void choose(const Waiting& w, std::span<const Gang* const> from, std::vector<const Gang*>& chosen, double cost) {
    for (std::size_t i = 0; i < from.size() && tries_left_ > 0; ++i) {
      const Gang& g = *from[i];
      const double total = cost + static_cast<double>(g.loss_gpu_ms()) / 3.6e6;
      double hope = start_gain(w) + leaf_hours(g, leaves_of(layout_, g.nodes));
      for (const Gang* c : chosen) hope += leaf_hours(*c, leaves_of(layout_, c->nodes));
      if (!worth(hope, total)) {
        if (rules_.slowdown_per_leaf <= 0) return;
        continue;
      }
      chosen.push_back(&g);
      consider(w, chosen, true);
      consider(w, chosen, false);
      if (chosen.size() < rules_.moves_max) choose(w, from.subspan(i + 1), chosen, total);
      chosen.pop_back();
    }
  }

  // Tries the moves on the tree: all of them stop, then the waiting one and they start, it first or last.
  void consider(const Waiting& w, const std::vector<const Gang*>& chosen, bool first) {
    Defrag d;
    d.beneficiary = w.id;
    d.gain_gpu_h = start_gain(w);
    std::vector<const Gang*> order = chosen;
    std::sort(order.begin(), order.end(), [](const Gang* a, const Gang* b) {
      return std::tuple(b->milli_gpus(), a->id) < std::tuple(a->milli_gpus(), b->id);
    });
    const std::size_t mark = tree_.mark();
    for (const Gang* g : order) give(tree_, *g);
    const bool ok = (!first || start(w, d)) &&
                    std::all_of(order.begin(), order.end(), [&](const Gang* g) { return place(*g, d); }) &&
                    (first || start(w, d));
    tree_.rollback(mark);
    if (!ok || !worth(d.gain_gpu_h, d.cost_gpu_h)) return;
    std::sort(d.moves.begin(), d.moves.end(), [](const Move& a, const Move& b) { return a.id < b.id; });
    if (best_ && std::tuple(net(d), best_->moves.size()) <= std::tuple(net(*best_), d.moves.size())) return;
    d.why = explain(d, w);
    best_ = std::move(d);
  }

  bool start(const Waiting& w, Defrag& d) {
    auto c = fits(w.shape);
    if (!c) return false;
    tree_.take(*c, w.shape.milli);
    d.start = std::move(*c);
    return true;
  }

  bool place(const Gang& g, Defrag& d) {
    auto c = fits(g.shape);
    // One that stays where it is was stopped for nothing: the set without it is looked at by itself.
    if (!c || (c->nodes == g.nodes && c->slots == g.slots)) return false;
    tree_.take(*c, g.shape.milli);
    Move m{.id = g.id, .to = std::move(*c), .leaves_before = leaves_of(layout_, g.nodes), .cost_gpu_h = 0};
    m.cost_gpu_h = static_cast<double>(g.loss_gpu_ms()) / 3.6e6;
    const std::uint32_t after = leaves_of(layout_, m.to.nodes);
    d.cost_gpu_h += m.cost_gpu_h;
    if (after < m.leaves_before) d.gain_gpu_h += leaf_hours(g, m.leaves_before - after);
    if (after > m.leaves_before) d.cost_gpu_h += leaf_hours(g, after - m.leaves_before);
    d.moves.push_back(std::move(m));
    return true;
  }

  std::string explain(const Defrag& d, const Waiting& w) const {
    std::string ids;
    for (const Move& m : d.moves) ids += (ids.empty() ? "" : ", ") + render(m.id);
    return fmt::format(
        "moving {} gang{} ({}) at a checkpoint lets job {} start now instead of in {}: {:.3g} GPU-hours gained for {:.3g} "
        "spent",
        d.moves.size(), d.moves.size() == 1 ? "" : "s", ids, render(w.id), render_duration(from_seconds(w.wait_s)), d.gain_gpu_h,
        d.cost_gpu_h);
  }

  Tree& tree_;
  const Layout& layout_;
  const DefragRules& rules_;
  std::vector<const Gang*> movable_;  // cheapest first
  std::uint32_t tries_left_;
  std::optional<Defrag> best_;
};

}  // namespace

std::optional<Defrag> plan_defrag(Tree& tree, const Layout& layout, std::span<const Gang> running,
                                  std::span<const Waiting> waiting, const DefragRules& rules) {
  return Defragmenter(tree, layout, running, rules).plan(waiting);
}

void apply(Tree& tree, std::span<const Gang> running, const Defrag& plan, const Shape& beneficiary) {
  std::vector<const Gang*> moved;
  for (const Move& m : plan.moves) {
    const auto g = std::find_if(running.begin(), running.end(), [&](const Gang& x) { return x.id == m.id; });
    MUSTER_CHECK(g != running.end());
    moved.push_back(&*g);
    give(tree, *g);
  }
  tree.take(plan.start, beneficiary.milli);
  for (std::size_t i = 0; i < moved.size(); ++i) tree.take(plan.moves[i].to, moved[i]->shape.milli);
}

}  // namespace muster::decide
