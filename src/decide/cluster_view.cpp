#include "decide/cluster_view.h"

#include <set>

#include "decide/choose.h"
#include "decide/energy/heat.h"
#include "decide/moves/repair.h"
#include "decide/upgrade/sides.h"

namespace muster::decide {
namespace {

// How unwelcome a node is to new work: trouble it is suspected of, trouble it had again and again, and neighbours whose traffic
// leaves the leaf. Few grades, and none for ordinary nodes: costs come before the tight fit, and a cost on everything is bad
// packing.
constexpr std::uint32_t kCostOfSuspicion = 100;
constexpr std::uint32_t kCostOfPast = 40;
constexpr std::uint32_t kManyIncidents = 3;
constexpr std::uint32_t kCostOfTraffic = 20;  // where most nodes of the leaf talk to other leaves

constexpr std::uint32_t kCostOfUpgrade = 30;

constexpr double kFailuresPerNodeHour = 6.5e-4;  // of published fleets, for a node of eight; data/fault_rates.csv
constexpr double kRepairHours = 1.5;

// What starts there would have to make room, or hold the upgrade up.
bool waits_for_upgrade(const State& s, NodeId n) {
  if (s.upgrade.phase != UpgradePhase::waves) return false;
  const auto t = s.upgrade.turns.find(n);
  return t == s.upgrade.turns.end() || !t->second.installed;
}

SparesAsk spares_ask(double confidence) {
  SparesAsk ask;
  ask.failures_per_node_hour = kFailuresPerNodeHour;
  ask.repair_h = kRepairHours;
  ask.confidence = confidence;
  return ask;
}

double node_busy_w(const State& s) { return s.policy.scheduling.gpu_kw * 1000 * s.site.gpus_per_node; }

}  // namespace

Layout layout_of(const Site& site) {
  Layout out;
  out.models = {site.gpu_model};
  for (const NodeSpec& n : site.nodes) {
    const std::string& model = n.gpu_model.empty() ? site.gpu_model : n.gpu_model;
    auto at = std::find(out.models.begin(), out.models.end(), model);
    if (at == out.models.end()) at = out.models.insert(at, model);
    out.nodes.push_back({n.domain, n.leaf, n.pod, site.gpus_per_node, static_cast<std::uint32_t>(at - out.models.begin()), 0});
  }
  for (std::size_t k = 0; k < std::min(site.pools.size(), kPoolsMax); ++k) {
    out.pools.push_back(site.pools[k].name);
    for (const NodeId n : site.pools[k].nodes) out.nodes.at(n.v).pools |= std::uint64_t{1} << k;
  }
  return out;
}

std::uint32_t model_of(const Layout& layout, std::string_view name) {
  if (name.empty()) return kAnyModel;
  const auto at = std::find(layout.models.begin(), layout.models.end(), name);
  return static_cast<std::uint32_t>(at - layout.models.begin());
}

std::uint32_t pool_of(const Layout& layout, std::string_view name) {
  if (name.empty()) return kAnyPool;
  const auto at = std::find(layout.pools.begin(), layout.pools.end(), name);
  // One that no node is in: what nobody knows holds nothing.
  return at == layout.pools.end() ? kNoPool : static_cast<std::uint32_t>(at - layout.pools.begin());
}

Shape shape_of(const Layout& layout, const JobSpec& spec) {
  Shape x;
  x.pieces = spec.nodes;
  x.gpus = spec.gpus_per_node;
  x.segment = spec.segment;
  x.required = spec.within;
  x.model = model_of(layout, spec.gpu_model);
  x.pool = pool_of(layout, spec.pool);
  if (spec.gpu_milli > 0) {
    x.pieces = x.gpus = 1;
    x.milli = spec.gpu_milli;
  }
  return x;
}

double part_of(const Job& j) {
  if (j.spec.nodes_min == 0 || j.nodes.empty() || j.nodes.size() >= j.spec.nodes) return 1;
  return static_cast<double>(j.nodes.size()) / j.spec.nodes;
}

std::vector<std::uint32_t> spares_by_pod(const Site& site, double confidence) {
  SparesAsk ask = spares_ask(confidence);
  ask.group_nodes.assign(site.pods, 0);
  for (const NodeSpec& n : site.nodes) ++ask.group_nodes[n.pod];
  return spares_wanted(ask);
}

bool may_grow(const State& s, const Job& j) {
  if (part_of(j) == 1 || j.phase != JobPhase::running || j.spec.no_requeue || j.spec.checkpoint_every_s <= 0) return false;
  const auto mine = [&](const Harm& h) { return !h.node.some() && h.job == j.id; };
  return std::count_if(s.harms.begin(), s.harms.end(), mine) < s.policy.scheduling.stops_per_day;
}

void ClusterView::update(const State& s) {
  if (!tree_ || held_.size() != s.nodes.size() || epoch_ != s.epoch || (power_ && power_->busy_w() != node_busy_w(s)))
    return build(s);
  open_spares();
  std::set<std::uint32_t> leaves;
  for (NodeId n : s.dirty_nodes) {
    sync(s, n);
    leaves.insert(layout_.nodes[n.v].leaf);
  }
  for (std::uint32_t n = 0; !s.dirty_rows.empty() && n < s.nodes.size(); ++n) {
    if (s.dirty_rows.count(row_of(s.site, NodeId{n})) != 0) leaves.insert(layout_.nodes[n].leaf);
  }
  if (power_) power_->apply(*tree_);
  take_sides(s);
  for (const std::uint32_t leaf : leaves) weigh(s, leaf);
  choose_spares(s);
  if (places_.size() > 2 * s.jobs.size() + 1000)
    std::erase_if(places_, [&](const auto& p) { return s.jobs.count(p.first) == 0; });
}

void ClusterView::build(const State& s) {
  *this = ClusterView{};
  epoch_ = s.epoch;
  layout_ = layout_of(s.site);
  leaf_nodes_.resize(s.site.leaves);
  pod_nodes_.resize(s.site.pods);
  for (std::uint32_t i = 0; i < s.site.nodes.size(); ++i) {
    leaf_nodes_[s.site.nodes[i].leaf].push_back(NodeId{i});
    pod_nodes_[s.site.nodes[i].pod].push_back(NodeId{i});
  }
  tree_.emplace(layout_);
  held_.resize(s.nodes.size());
  in_service_.assign(s.nodes.size(), 1);
  if (power_capped(s.site)) power_.emplace(s.site, node_busy_w(s), node_busy_w(s) * kIdlePower);
  for (std::uint32_t n = 0; n < s.nodes.size(); ++n) sync(s, NodeId{n});
  if (power_) power_->apply(*tree_);
  take_sides(s);
  for (std::uint32_t leaf = 0; leaf < leaf_nodes_.size(); ++leaf) weigh(s, leaf);
  choose_spares(s);
}

void ClusterView::sync(const State& s, NodeId n) {
  const std::vector<Share>& now = s.nodes[n.v].shares;
  if (held_[n.v] != now) {
    for (const Share& x : held_[n.v]) tree_->give(n, x.slots, x.milli);
    for (const Share& x : now) tree_->take(n, x.slots, x.milli);
    held_[n.v] = now;
    for (const Share& x : now) {
      if (const Job* j = find_job(s, x.job); j != nullptr && j->spec.nodes_min > 0) elastic_.insert(x.job);
    }
  }
  const bool serves = placeable(s, n);
  if (power_) {
    in_service_[n.v] = serves ? 1 : 0;
    power_->set_busy(n, !now.empty());
    return power_->set_usable(n, serves);
  }
  if (serves == (in_service_[n.v] != 0)) return;
  in_service_[n.v] = serves ? 1 : 0;
  if (serves)
    tree_->open(n);
  else
    tree_->close(n);
}

void ClusterView::take_sides(const State& s) {
  const Sides sides = sides_of(s);
  open_for_ = sides.open_for;
  tree_->keep_apart(sides.apart, sides.together);
  for (std::uint32_t n = 0; n < s.nodes.size() && (sided_ || !sides.of.empty()); ++n)
    tree_->set_side(NodeId{n}, sides.of.empty() ? 0 : sides.of[n]);
  sided_ = !sides.of.empty();
}

Shape ClusterView::beside_upgrade(Shape shape, Duration expected) const {
  if (expected > open_for_) shape.sides &= kNotWaiting;
  return shape;
}

void ClusterView::weigh(const State& s, std::uint32_t leaf) {
  std::uint32_t spread = 0;  // nodes whose gang talks across leaves
  for (NodeId n : leaf_nodes_[leaf]) {
    for (const Share& x : s.nodes[n.v].shares) {
      const Job* j = find_job(s, x.job);
      if (j == nullptr || j->placement.leaves <= 1) continue;
      ++spread;
      break;
    }
  }
  const std::uint32_t traffic = 2 * spread > leaf_nodes_[leaf].size() ? kCostOfTraffic : 0;
  const bool suspect = s.suspect_leaves.count(leaf) != 0;
  for (NodeId n : leaf_nodes_[leaf]) {
    const NodeState& node = s.nodes[n.v];
    std::uint32_t cost = traffic + (node.incidents >= kManyIncidents ? kCostOfPast : 0);
    if (node.incident.some() || suspect) cost += kCostOfSuspicion;
    if (waits_for_upgrade(s, n)) cost += kCostOfUpgrade;
    if (s.policy.heat_aware) cost += heat_cost(s, n);
    tree_->set_cost(n, static_cast<std::uint8_t>(std::min(cost, 255U)));
  }
}

// The free nodes least welcome to others are the spares: they serve a gang in need as well as any.
void ClusterView::choose_spares(const State& s) {
  spares_.clear();
  for (const auto& [n, t] : s.upgrade.turns) {  // kept for gangs that are to move there
    if (t.stage == TurnStage::kept && at_work(s.upgrade.phase) && may_open(n) && held_[n.v].empty()) spares_.push_back(n);
  }
  for (const NodeId n : canaries_to_come(s)) {
    if (may_open(n)) spares_.push_back(n);
  }
  keep_for_smaller(s);
  close_spares();
  if (s.policy.scheduling.spare_confidence <= 0) return;
  SparesAsk ask = spares_ask(s.policy.scheduling.spare_confidence);
  for (const auto& pod : pod_nodes_) ask.group_nodes.push_back(static_cast<std::uint32_t>(pod.size()));
  const std::vector<std::uint32_t> wanted = spares_wanted(ask);
  for (std::size_t p = 0; p < pod_nodes_.size(); ++p) {
    std::uint32_t kept = 0;
    for (auto n = pod_nodes_[p].rbegin(); n != pod_nodes_[p].rend() && kept < wanted[p]; ++n) {
      if (!may_open(*n) || !held_[n->v].empty() || std::find(spares_.begin(), spares_.end(), *n) != spares_.end()) continue;
      spares_.push_back(*n);
      ++kept;
    }
  }
  close_spares();
}

// Without this whoever waits in the queue would take a repaired node at once, and the gang that lost it would stay small for
// ever. They idle until its next checkpoint at most; a gang that writes none gets none.
void ClusterView::keep_for_smaller(const State& s) {
  growth_.clear();
  std::erase_if(elastic_, [&](JobId id) {
    const Job* j = find_job(s, id);
    return j == nullptr || ended(j->phase) || j->phase == JobPhase::queued;
  });
  for (const JobId id : elastic_) {
    const Job& j = s.jobs.at(id);
    if (!may_grow(s, j)) continue;
    Stakes k = stakes_of(s, j, 0);
    k.age_s = 0;
    k.smaller = part_of(j);
    if (weigh_growth(k).smaller) continue;
    const auto lack = static_cast<std::size_t>(j.spec.nodes - j.nodes.size());
    const Shape shape = shape_of(j.spec);
    std::vector<std::pair<std::uint32_t, NodeId>> free;  // nearest first: of its leaf, of its pod, others
    for (std::uint32_t n = 0; n < held_.size(); ++n) {
      const Layout::Node& at = layout_.nodes[n];
      if (!held_[n].empty() || !may_open(NodeId{n}) || !suits(shape, at.model, at.pools)) continue;
      if (std::find(spares_.begin(), spares_.end(), NodeId{n}) != spares_.end()) continue;
      const Layout::Node& home = layout_.nodes[j.nodes.front().v];
      free.emplace_back(at.leaf == home.leaf ? 0 : at.pod == home.pod ? 1 : 2, NodeId{n});
    }
    if (free.size() < lack) continue;  // a part of them is of no use to it: others may have them
    std::sort(free.begin(), free.end());
    for (std::size_t at = 0; at < lack; ++at) {
      growth_[id].push_back(free[at].second);
      spares_.push_back(free[at].second);
    }
  }
}

std::optional<Choice> ClusterView::room_to_grow(const Job& j) {
  const auto kept = growth_.find(j.id);
  if (kept == growth_.end()) return std::nullopt;
  const std::size_t mark = tree_->mark();
  for (NodeId n : kept->second) tree_->open(n);
  tree_->give(where(j));
  auto choice = tree_->find(beside_upgrade(shape_of(j.spec), Duration{INT64_MAX}));
  tree_->rollback(mark);
  const auto has = [&](NodeId n) { return std::find(j.nodes.begin(), j.nodes.end(), n) != j.nodes.end(); };
  if (!choice || !std::all_of(choice->nodes.begin(), choice->nodes.end(), [&](NodeId n) { return has(n) || powered(n); }))
    return std::nullopt;
  return choice;
}

std::uint32_t ClusterView::closed_by_power() const {
  std::uint32_t closed = 0;
  for (std::uint32_t n = 0; power_ && n < held_.size(); ++n) {
    if (in_service_[n] != 0 && held_[n].empty() && !power_->open(NodeId{n})) ++closed;
  }
  return closed;
}

void ClusterView::open_spares() {
  for (NodeId n : spares_) {
    if (may_open(n)) tree_->open(n);
  }
}
void ClusterView::close_spares() {
  for (NodeId n : spares_) tree_->close(n);
}

Shape ClusterView::held_shape(const Job& j) const {
  Shape x = shape_of(j.spec);
  if (part_of(j) < 1) x.pieces = static_cast<std::uint32_t>(j.nodes.size());
  return x;
}

Shape ClusterView::wanted_shape(const State& s, const Job& j) const {
  Shape x = shape_of(j.spec);
  const bool hopes = j.spec.prefer < x.required && (s.mono() - j.queued + j.waited).seconds() < j.spec.prefer_wait_s;
  if (hopes && j.attempt == 0) x.required = j.spec.prefer;
  return x;
}

const Choice& ClusterView::where(const Job& j) {
  Place& p = places_[j.id];
  const bool same = p.attempt == j.attempt && p.nodes.size() == j.nodes.size() &&
                    (j.nodes.empty() || (p.nodes.front() == j.nodes.front() && p.nodes.back() == j.nodes.back()));
  if (!same) {
    p.attempt = j.attempt;
    p.nodes = j.nodes;
    p.choice = Choice{};
    p.choice.nodes = j.nodes;
    p.choice.slots = j.slots;
    if (j.slots.empty()) {
      for (NodeId n : j.nodes) p.choice.slots.push_back(static_cast<std::uint16_t>((1U << layout_.nodes[n.v].gpus) - 1));
    }
  }
  return p.choice;
}

}  // namespace muster::decide
