#include "decide/broken.h"

#include <fmt/core.h>

#include "decide/moves/repair.h"
#include "decide/waiting.h"

namespace muster::decide {
namespace {

constexpr std::uint32_t kAppFailures = 3;  // a program that fails this often by itself is given up

// Trouble on one of the nodes explains a failure that the engine blames on the program.
bool node_to_blame(const State& s, const Job& j) {
  return std::any_of(j.nodes.begin(), j.nodes.end(), [&](NodeId n) {
    return n.v < s.nodes.size() && (s.nodes[n.v].incident.some() || s.explained.count(n) != 0);
  });
}

// Whether the engine's words name the node, as a word of its own. They are a user's text in part: they move that user's gang to
// another node, and nothing is done to the node for them.
bool names_node(std::string_view words, std::string_view node) {
  const auto part = [&](std::size_t i) {
    return i < words.size() &&
           (words[i] == '-' || words[i] == '_' || words[i] == '.' || std::isalnum(static_cast<unsigned char>(words[i])));
  };
  for (std::size_t at = words.find(node); !node.empty() && at != std::string_view::npos; at = words.find(node, at + 1)) {
    if ((at == 0 || !part(at - 1)) && !part(at + node.size())) return true;
  }
  return false;
}

bool has(const NodeState& n, JobId id) {
  return std::any_of(n.shares.begin(), n.shares.end(), [&](const Share& x) { return x.job == id; });
}

// `blame`: the node whose rank was lost is left out too, though nothing is known against it yet: a fault shows to the launcher
// first, to a scrape within a minute, and a gang that starts there meanwhile is lost again.
std::optional<Wanted> mend_with(const State& s, ClusterView& view, const Job& j, bool blame) {
  if (!s.policy.scheduling.repair || j.nodes.size() < 2 || j.spec.gpu_milli > 0) return std::nullopt;
  const std::uint32_t milli = 1000;
  const std::uint16_t whole = all_slots(s.site);
  std::vector<NodeId> failed;
  for (std::size_t i = 0; i < j.nodes.size(); ++i) {
    const NodeId n = j.nodes[i];
    const bool sound = placeable(s, n) || (has(s.nodes[n.v], j.id) && s.nodes[n.v].condition == NodeCondition::up &&
                                           s.nodes[n.v].hold == Hold::none && !s.nodes[n.v].incident.some());
    const bool free = room_for(s, n, j.slots.empty() ? whole : j.slots[i], milli, j.id);
    const bool blamed = blame && names_node(j.last_detail, s.site.nodes[n.v].name);
    if (!sound || !free || blamed) failed.push_back(n);
  }
  if (failed.empty() || failed.size() == j.nodes.size()) return std::nullopt;
  // The tree as if the gang still had its nodes.
  Tree& tree = view.tree();
  const Gang gang = gang_of(s, view, quotas_of(s), j);
  view.open_spares();
  const std::size_t mark = tree.mark();
  for (std::size_t i = 0; i < gang.nodes.size(); ++i) {
    const NodeId n = gang.nodes[i];
    const bool lost = std::find(failed.begin(), failed.end(), n) != failed.end();
    if (has(s.nodes[n.v], j.id)) continue;
    if (!lost || room_for(s, n, gang.slots[i], milli, j.id)) tree.take(n, gang.slots[i], milli);
  }
  const Repair r = plan_repair(tree, view.layout(), gang, failed);
  tree.rollback(mark);
  view.close_spares();
  if (!r.possible) return std::nullopt;
  // A gang that broke has left its nodes: they draw little now, and others may have been promised that power.
  if (!std::all_of(r.nodes.begin(), r.nodes.end(), [&](NodeId n) { return has(s.nodes[n.v], j.id) || view.powered(n); }))
    return std::nullopt;
  Wanted w;
  w.action.verb = Verb::restart_job;
  w.action.job = j.id;
  w.action.attempt = j.attempt + 1;
  w.action.nodes = r.nodes;
  if (!j.slots.empty()) w.action.slots = r.slots;
  w.placement.level = r.level;
  w.placement.leaves = r.leaves;
  w.placement.leaves_min = r.leaves_min;
  w.placement.leaves_empty = j.placement.leaves_empty;
  w.placement.why = r.why;
  w.reason.rule = "queue/repair";
  const std::uint64_t lost = j.progress.steps - std::min(j.progress.steps, j.progress.durable_steps);
  w.reason.sentence = fmt::format("{}; it {}: {} step{} lost", r.why,
                                  j.progress.durable_steps > 0 ? fmt::format("continues from step {}", j.progress.durable_steps)
                                                               : std::string("begins anew, for it had no checkpoint yet"),
                                  lost, lost == 1 ? " is" : "s are");
  w.reason.alternatives = {"send it back to the queue: it would wait, and others would take its nodes"};
  w.reason.actor = "muster";
  return w;
}

}  // namespace

std::optional<Wanted> mend(const State& s, ClusterView& view, const Job& j) {
  if (j.phase == JobPhase::broken && j.last_end == JobEnd::node_failed && !j.last_detail.empty()) {
    if (auto w = mend_with(s, view, j, true)) return w;
  }
  return mend_with(s, view, j, false);
}

void decide_broken(const State& s, ClusterView& view, Decisions& out) {
  if (s.idle()) return;
  for (JobId id : s.broken_jobs) {
    const Job* j = find_job(s, id);
    if (j == nullptr || j->phase != JobPhase::broken) continue;
    Wanted w;
    w.action.job = id;
    w.action.attempt = j->attempt;
    w.reason.actor = "muster";
    const bool own_fault = j->last_end == JobEnd::app_failed && !node_to_blame(s, *j);
    if (j->fruitless >= s.policy.job_restarts_max || (own_fault && j->app_failures >= kAppFailures)) {
      w.action.verb = Verb::fail_job;
      w.reason.rule = "queue/give_up";
      w.reason.sentence =
          own_fault ? fmt::format("the program failed by itself {} times, got no further, and no node of it has a fault",
                                  j->app_failures)
                    : fmt::format("{} restarts in which it got no further, the policy allows {}", j->fruitless,
                                  s.policy.job_restarts_max);
      w.reason.alternatives = {"requeue once more: it would most likely fail again"};
    } else if (auto mended = mend(s, view, *j)) {
      w = std::move(*mended);
      // Two gangs that broke at once must not be mended with the same spare: the second is looked at after this one is on record.
      out.push_back(std::move(w));
      continue;
    } else {
      w.action.verb = Verb::requeue_job;
      w.reason.rule = "queue/requeue";
      w.reason.sentence = fmt::format("attempt {} ended ({}); it continues from step {} of {}, {} steps are lost", j->attempt,
                                      name_of(j->last_end), j->progress.durable_steps, j->spec.steps,
                                      j->progress.steps - std::min(j->progress.steps, j->progress.durable_steps));
      w.reason.alternatives = {"give it up: restarts are left"};
    }
    out.push_back(std::move(w));
  }
}

}  // namespace muster::decide
