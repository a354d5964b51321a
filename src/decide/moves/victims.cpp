#include "decide/moves/victims.h"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

#include "decide/moves/clearing.h"

namespace muster::decide {
namespace {

bool cheaper(const Candidate& a, const Candidate& b) {
  return std::tuple(a.loss, a.gang->priority, a.gang->id) < std::tuple(b.loss, b.gang->priority, b.gang->id);
}

bool dearer(const Candidate& a, const Candidate& b) {
  return std::tuple(-a.loss, -a.gang->priority, a.gang->id) < std::tuple(-b.loss, -b.gang->priority, b.gang->id);
}

std::int64_t loss_of(std::span<const Candidate> chosen) {
  std::int64_t sum = 0;
  for (const Candidate& c : chosen) sum += c.loss;
  return sum;
}

}  // namespace

VictimSearch::VictimSearch(Tree& tree, const Layout& layout, const PreemptAsk& ask, const PreemptRules& rules,
                           const Quotas* quotas)
    : tree_(tree), layout_(layout), ask_(ask), rules_(rules), tries_left_(rules.tries) {
  if (quotas != nullptr) quotas_.push_back(*quotas);
  // One piece lies within one node, whatever level it may share.
  level_ = ask.shape.pieces == 1 ? Level::node : ask.shape.required;
}

void VictimSearch::stop(const Gang& g) {
  give(tree_, g);
  if (!quotas_.empty()) quotas_[0].give(g.queue, g.use);
}

void VictimSearch::resume(const Gang& g) {
  take(tree_, g);
  if (!quotas_.empty()) quotas_[0].take(g.queue, g.use);
}

bool VictimSearch::fits() {
  if (tries_left_ == 0) return false;
  --tries_left_;
  if (!quotas_.empty() && !quotas_[0].allows(ask_.queue, ask_.use)) return false;
  return tree_.may_fit(ask_.shape);
}

bool VictimSearch::legal(const Set& s) {
  if (quotas_.empty() || !quotas_[0].guarded(ask_.use)) return true;
  std::vector<const Gang*> order = s.gangs;
  for (const Gang* g : order) quotas_[0].take(g->queue, g->use);
  std::stable_sort(order.begin(), order.end(), [](const Gang* a, const Gang* b) { return a->milli_gpus() < b->milli_gpus(); });
  bool ok = true;
  for (const Gang* g : order) {
    // In the asker's own queue the quotas have no say: only lower priority made it a candidate.
    ok = ok && (g->queue == ask_.queue || quotas_[0].must_give(g->queue, ask_.queue, ask_.use));
    quotas_[0].give(g->queue, g->use);
  }
  return ok;
}

bool VictimSearch::beaten(std::int64_t loss, std::size_t gangs) const {
  return found_ && std::tuple(loss, gangs) > std::tuple(best_.loss, best_.gangs.size());
}

void VictimSearch::consider(std::span<const Candidate> chosen) {
  Set s;
  for (const Candidate& c : chosen) {
    s.gangs.push_back(c.gang);
    s.loss += c.loss;
    s.priorities += c.gang->priority;
  }
  std::sort(s.gangs.begin(), s.gangs.end(), [](const Gang* a, const Gang* b) { return a->id < b->id; });
  const auto before = [](const Set& a, const Set& b) {
    const auto ka = std::tuple(a.loss, a.gangs.size(), a.priorities);
    const auto kb = std::tuple(b.loss, b.gangs.size(), b.priorities);
    if (ka != kb) return ka < kb;
    return std::lexicographical_compare(a.gangs.begin(), a.gangs.end(), b.gangs.begin(), b.gangs.end(),
                                        [](const Gang* x, const Gang* y) { return x->id < y->id; });
  };
  if (found_ && !before(s, best_)) return;
  // may_fit() was quick; a plan rests on a placement.
  if (!legal(s) || !tree_.find(ask_.shape)) return;
  found_ = true;
  best_ = std::move(s);
}

// The GPUs that must come free: each piece still missing takes what its node lacks for one more. Freeing them costs at least as
// much as taking the cheapest candidates, by the GPU and in parts.
void VictimSearch::set_bound(Group& g) const {
  std::vector<std::uint32_t> lacking;
  std::int64_t room = 0;
  for (const NodeId n : g.nodes) {
    const std::uint32_t piece = piece_gpus(layout_, ask_.shape, n);
    const std::uint32_t free = free_gpus(tree_, layout_, ask_.shape, n);
    const bool usable = tree_.is_open(n) && suits(ask_.shape, layout_.nodes[n.v].model, layout_.nodes[n.v].pools);
    if (!usable) continue;
    room += free / piece;
    const std::uint32_t most = layout_.nodes[n.v].gpus / piece;
    for (std::uint32_t k = free / piece; k < most; ++k) lacking.push_back(k == free / piece ? piece - free % piece : piece);
  }
  if (ask_.shape.milli < 1000) return;  // shares of GPUs: no bound that is worth its while
  const std::int64_t missing = std::int64_t{ask_.shape.pieces} - room;
  if (missing <= 0) return;  // room enough but in the wrong places (segments), or a quota in the way
  if (static_cast<std::size_t>(missing) > lacking.size()) {
    g.possible = false;
    return;
  }
  std::sort(lacking.begin(), lacking.end());
  for (std::int64_t k = 0; k < missing; ++k) g.need += lacking[static_cast<std::size_t>(k)];
  std::vector<Candidate> order = g.candidates;
  std::sort(order.begin(), order.end(), cheaper_per_gpu);
  std::int64_t left = g.need;
  double bound = 0;
  for (const Candidate& c : order) {
    if (left <= 0) break;
    if (c.gpus <= 0) continue;
    bound += static_cast<double>(c.loss) * static_cast<double>(std::min(left, c.gpus)) / static_cast<double>(c.gpus);
    left -= c.gpus;
  }
  g.possible = left <= 0;
  g.bound = std::max<std::int64_t>(0, static_cast<std::int64_t>(bound) - 1);  // rounding must not make it too high
}

std::vector<VictimSearch::Group> VictimSearch::groups(const std::vector<Candidate>& all) const {
  std::map<std::uint32_t, Group> by_number;
  for (const Candidate& c : all) {
    std::map<std::uint32_t, std::int64_t> gpus;
    for (std::size_t i = 0; i < c.gang->nodes.size(); ++i) {
      const NodeId n = c.gang->nodes[i];
      gpus[group_of(layout_, n, level_)] += tree_.is_open(n) ? std::popcount(c.gang->slots[i]) : 0;
    }
    for (const auto& [number, count] : gpus) {
      Candidate here = c;
      here.gpus = count;
      if (count > 0) by_number[number].candidates.push_back(here);
    }
  }
  for (std::uint32_t n = 0; n < layout_.nodes.size(); ++n) {
    const auto it = by_number.find(group_of(layout_, NodeId{n}, level_));
    if (it != by_number.end()) it->second.nodes.push_back(NodeId{n});
  }
  std::vector<Group> out;
  for (auto& [number, g] : by_number) {
    g.number = number;
    set_bound(g);
    if (g.possible) out.push_back(std::move(g));
  }
  std::stable_sort(out.begin(), out.end(), [](const Group& a, const Group& b) { return a.bound < b.bound; });
  return out;
}

void VictimSearch::run(const std::vector<Candidate>& all) {
  look_into_groups(all);
  if (quotas_.empty() || quotas_[0].allows(ask_.queue, ask_.use)) return;
  // A quota is in the way: stopping a gang in another group can help too, so the cluster is looked at as a whole.
  level_ = Level::core;
  exact_ = true;
  look_into_groups(all);
}

void VictimSearch::look_into_groups(const std::vector<Candidate>& all) {
  for (const Group& g : groups(all)) {
    if (found_ && g.bound > best_.loss) break;
    if (tries_left_ == 0) {
      exact_ = exact_ && found_ && g.bound >= best_.loss;
      break;
    }
    look(g);
  }
}

void VictimSearch::look(const Group& g) {
  for (const Candidate& c : g.candidates) stop(*c.gang);
  const bool possible = fits();
  for (const Candidate& c : g.candidates) resume(*c.gang);
  if (!possible) {
    exact_ = exact_ && tries_left_ > 0;
    return;
  }
  std::vector<Candidate> order = g.candidates;
  std::sort(order.begin(), order.end(), cheaper_per_gpu);
  std::vector<Candidate> least;
  greedy(g, by_node(tree_, layout_, ask_.shape, g.nodes, g.candidates), least);
  greedy(g, order, least);
  if (ask_.shape.segment > 1) greedy(g, by_domain(layout_, g.candidates), least);
  std::sort(order.begin(), order.end(), cheaper);
  greedy(g, order, least);
  improve(g, least);

  // Nobody who alone costs more than the best set is in a better one.
  std::erase_if(order, [&](const Candidate& c) { return found_ && c.loss > best_.loss; });
  if (order.size() > rules_.exact_max) {
    exact_ = exact_ && found_ && g.bound >= best_.loss;
    return;
  }
  std::sort(order.begin(), order.end(), dearer);
  for (const Candidate& c : order) stop(*c.gang);
  std::vector<Candidate> chosen;
  if (fits()) branch(order, chosen, 0);
  for (const Candidate& c : order) resume(*c.gang);
  exact_ = exact_ && tries_left_ > 0;
}

// All of `c` and of `chosen` are stopped, and the gang fits. Decides about the dearest of `c`: kept running first, if the gang
// still fits without it (freeing more never hurts), then stopped.
bool VictimSearch::branch(std::span<const Candidate> c, std::vector<Candidate>& chosen, std::int64_t loss) {
  if (beaten(loss, chosen.size())) return true;
  if (c.empty()) {
    consider(chosen);
    return true;
  }
  resume(*c[0].gang);
  const bool go = !fits() || branch(c.subspan(1), chosen, loss);
  stop(*c[0].gang);
  if (!go || tries_left_ == 0) return false;
  chosen.push_back(c[0]);
  const bool done = branch(c.subspan(1), chosen, loss + c[0].loss);
  chosen.pop_back();
  return done;
}

void VictimSearch::greedy(const Group& g, const std::vector<Candidate>& order, std::vector<Candidate>& least) {
  std::vector<Candidate> chosen;
  std::int64_t gpus = 0;
  bool fit = false;
  for (const Candidate& c : order) {
    if (c.borrowed && !quotas_[0].must_give(c.gang->queue, ask_.queue, ask_.use)) continue;
    stop(*c.gang);
    chosen.push_back(c);
    gpus += c.gpus;
    if (gpus < g.need) continue;
    fit = fits();
    if (fit || tries_left_ == 0) break;
  }
  if (fit) {
    spare(chosen);
    consider(chosen);
    if (least.empty() || loss_of(chosen) < loss_of(least)) least = chosen;
  }
  for (const Candidate& c : chosen) resume(*c.gang);
}

void VictimSearch::improve(const Group& g, std::vector<Candidate> chosen) {
  for (const Candidate& c : chosen) stop(*c.gang);
  for (int round = 0; round < 4 && exchange(g, chosen); ++round) consider(chosen);
  for (const Candidate& c : chosen) resume(*c.gang);
}

// Lets go of whoever is not needed, dearest first.
void VictimSearch::spare(std::vector<Candidate>& chosen) {
  std::sort(chosen.begin(), chosen.end(), dearer);
  for (std::size_t i = 0; i < chosen.size();) {
    resume(*chosen[i].gang);
    if (fits()) {
      chosen.erase(chosen.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      stop(*chosen[i].gang);
      ++i;
    }
  }
}

// One victim for a cheaper one, then whoever has become spare goes. True when something changed.
bool VictimSearch::exchange(const Group& g, std::vector<Candidate>& chosen) {
  bool changed = false;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    for (const Candidate& c : g.candidates) {
      if (tries_left_ == 0) return changed;
      if (!cheaper(c, chosen[i]) || c.gpus == 0) continue;
      const bool in = std::any_of(chosen.begin(), chosen.end(), [&](const Candidate& x) { return x.gang == c.gang; });
      if (in || (c.borrowed && !quotas_[0].must_give(c.gang->queue, ask_.queue, ask_.use))) continue;
      resume(*chosen[i].gang);
      stop(*c.gang);
      if (fits()) {
        chosen[i] = c;
        changed = true;
      } else {
        resume(*c.gang);
        stop(*chosen[i].gang);
      }
    }
  }
  if (changed) spare(chosen);
  return changed;
}

}  // namespace muster::decide
