// ClusterView: the state as the scheduler needs it: a tree of what is free, kept up to date by what changed. What it answers
// depends on the state alone, never on the way the state came about.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "decide/energy/power.h"
#include "decide/moves/gang.h"
#include "decide/place/tree.h"
#include "decide/schedule/backfill.h"
#include "decide/schedule/rank.h"
#include "model/state.h"

namespace muster::decide {

Layout layout_of(const Site& site);
// kAnyModel for an empty name; layout.models.size() for an unknown one.
std::uint32_t model_of(const Layout& layout, std::string_view name);
Shape shape_of(const Layout& layout, const JobSpec& spec);
// Part of its pieces that a gang holds: below 1 where it goes on with fewer nodes than it asked for (spec.nodes_min).
double part_of(const Job& j);
// Nodes that are kept free for repairs in each pod, so that so many failures find a spare.
std::vector<std::uint32_t> spares_by_pod(const Site& site, double confidence);
// Whether such a gang may be restarted in full at its next checkpoint, as far as it and the limits are concerned.
bool may_grow(const State& s, const Job& j);

class ClusterView {
 public:
  // Takes over the changes of s.dirty_nodes; builds everything on the first call or for another site.
  void update(const State& s);

  Tree& tree() { return *tree_; }
  const Layout& layout() const { return layout_; }
  Shape shape_of(const JobSpec& spec) const { return decide::shape_of(layout_, spec); }
  // Of what a gang holds.
  Shape held_shape(const Job& j) const;
  // As shape_of, but while it may still hope for its preferred level, that level is required.
  Shape wanted_shape(const State& s, const Job& j) const;
  // Where a job that holds nodes has its GPUs; kept until it starts elsewhere.
  const Choice& where(const Job& j);

  // Whether the caps of power let the node turn busy.
  bool powered(NodeId n) const { return !power_ || power_->open(n); }
  // Free nodes in service that a power cap keeps closed.
  std::uint32_t closed_by_power() const;

  // As far as a rolling upgrade lets it: work that is expected to last long goes to no node whose turn is still to come.
  Shape beside_upgrade(Shape shape, Duration expected) const;

  // Nodes kept free for repairs are closed to everybody else; between these two calls they are open.
  void open_spares();
  void close_spares();
  // Free nodes kept for a gang that runs smaller than it asked for, until its next checkpoint; with those it has. Nothing: too
  // few are free, or it is not worth it.
  std::optional<Choice> room_to_grow(const Job& j);

 private:
  struct Place {
    std::uint32_t attempt = 0;
    std::vector<NodeId> nodes;  // as the job says; a change of it means the choice is stale
    Choice choice;
  };

  void build(const State& s);
  void sync(const State& s, NodeId n);
  void weigh(const State& s, std::uint32_t leaf);
  void choose_spares(const State& s);
  void take_sides(const State& s);
  void keep_for_smaller(const State& s);

  bool may_open(NodeId n) const { return in_service_[n.v] != 0 && (!power_ || power_->open(n)); }

  std::optional<Tree> tree_;
  Duration open_for_{INT64_MAX};      // of nodes whose turn in an upgrade is to come
  bool sided_ = false;                // some have a side
  std::optional<PowerBudget> power_;  // where the site has caps
  Layout layout_;
  std::uint64_t epoch_ = 0;               // pools may differ from run to run
  std::vector<std::vector<Share>> held_;  // as the tree has it
  std::vector<char> in_service_;          // whether the state would let it take work
  std::vector<std::vector<NodeId>> leaf_nodes_;
  std::vector<std::vector<NodeId>> pod_nodes_;
  std::vector<NodeId> spares_;
  std::set<JobId> elastic_;                      // placed gangs that can go on smaller
  std::map<JobId, std::vector<NodeId>> growth_;  // kept for those that do
  std::map<JobId, Place> places_;
};

}  // namespace muster::decide
