#include "decide/upgrade/vacate.h"

#include <set>

#include "decide/queue.h"

namespace muster::decide {

std::optional<Wanted> vacate(const State& s, ClusterView& view, const Job& j, std::span<const NodeId> leave,
                             std::span<const NodeId> onto) {
  if (j.phase != JobPhase::running || j.spec.no_requeue || !checkpoint_known(j) || j.spec.gpu_milli > 0) return std::nullopt;
  std::set<NodeId> usable(onto.begin(), onto.end());
  usable.insert(j.nodes.begin(), j.nodes.end());
  for (const NodeId n : leave) usable.erase(n);
  // The tree as if the job had stopped, and nothing else were there.
  Tree& tree = view.tree();
  const Choice had = view.where(j);
  const Shape shape = view.shape_of(j.spec);
  view.open_spares();
  const std::size_t mark = tree.mark();
  tree.give(had);
  for (std::uint32_t n = 0; n < s.nodes.size(); ++n) {
    const bool mine = std::find(j.nodes.begin(), j.nodes.end(), NodeId{n}) != j.nodes.end();
    const bool open = usable.count(NodeId{n}) != 0 && (mine || view.powered(NodeId{n}));
    if (!open && tree.is_open(NodeId{n})) tree.close(NodeId{n});
  }
  const auto found = tree.find(shape);
  tree.rollback(mark);
  view.close_spares();
  if (!found) return std::nullopt;
  Wanted w;
  w.action.verb = Verb::restart_job;
  w.action.job = j.id;
  w.action.attempt = j.attempt + 1;
  w.action.nodes = found->nodes;
  const bool whole =
      std::all_of(found->slots.begin(), found->slots.end(), [&](std::uint16_t mask) { return mask == all_slots(s.site); });
  if (!whole) w.action.slots = found->slots;
  w.placement = placement_of(s.site, *found, shape);
  return w;
}

}  // namespace muster::decide
