#include "decide/broken.h"

#include <fmt/core.h>

#include "decide/choose.h"
#include "decide/moves/repair.h"
#include "decide/queue.h"
#include "decide/waiting.h"

namespace muster::decide {
namespace {

constexpr std::uint32_t kWholeGpu = 1000;  // thousandths
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
std::vector<NodeId> failed_of(const State& s, const Job& j, bool blame) {
  const std::uint16_t whole = all_slots(s.site);
  std::vector<NodeId> failed;
  for (std::size_t i = 0; i < j.nodes.size(); ++i) {
    const NodeId n = j.nodes[i];
    const bool sound = placeable(s, n) || (has(s.nodes[n.v], j.id) && s.nodes[n.v].condition == NodeCondition::up &&
                                           s.nodes[n.v].hold == Hold::none && !s.nodes[n.v].incident.some());
    const bool free = room_for(s, n, j.slots.empty() ? whole : j.slots[i], kWholeGpu, j.id);
    const bool blamed = blame && names_node(j.last_detail, s.site.nodes[n.v].name);
    if (!sound || !free || blamed) failed.push_back(n);
  }
  return failed;
}

// Other nodes for the failed ones, all but the first `lack` of them: without those it goes on.
Repair repair_of(const State& s, ClusterView& view, const Job& j, std::vector<NodeId> failed, std::size_t lack) {
  // The tree as if the gang still had its nodes.
  Tree& tree = view.tree();
  Gang gang = gang_of(s, view, quotas_of(s), j);
  for (std::size_t k = 0; k < lack; ++k) {
    const auto at = std::find(gang.nodes.begin(), gang.nodes.end(), failed[k]) - gang.nodes.begin();
    gang.nodes.erase(gang.nodes.begin() + at);
    gang.slots.erase(gang.slots.begin() + at);
    --gang.shape.pieces;
  }
  failed.erase(failed.begin(), failed.begin() + static_cast<std::ptrdiff_t>(lack));
  view.open_spares();
  const std::size_t mark = tree.mark();
  for (std::size_t i = 0; i < gang.nodes.size(); ++i) {
    const NodeId n = gang.nodes[i];
    const bool lost = std::find(failed.begin(), failed.end(), n) != failed.end();
    if (has(s.nodes[n.v], j.id)) continue;
    if (!lost || room_for(s, n, gang.slots[i], kWholeGpu, j.id)) tree.take(n, gang.slots[i], kWholeGpu);
  }
  Repair r = plan_repair(tree, view.layout(), gang, failed);
  tree.rollback(mark);
  view.close_spares();
  return r;
}

std::optional<Wanted> mend_with(const State& s, ClusterView& view, const Job& j, bool blame, std::size_t lack) {
  if (!s.policy.scheduling.repair || j.nodes.size() < 2 || j.spec.gpu_milli > 0) return std::nullopt;
  const std::vector<NodeId> failed = failed_of(s, j, blame);
  if (failed.empty() || failed.size() == j.nodes.size() || failed.size() < lack) return std::nullopt;
  Repair r = repair_of(s, view, j, failed, lack);
  if (!r.possible) return std::nullopt;
  // A gang that broke has left its nodes: they draw little now, and others may have been promised that power.
  if (!std::all_of(r.nodes.begin(), r.nodes.end(), [&](NodeId n) { return has(s.nodes[n.v], j.id) || view.powered(n); }))
    return std::nullopt;
  if (lack > 0) {
    r.why = fmt::format("{} of its {} nodes failed, and {} free where it could use {}: it goes on with {} of {}, slower",
                        failed.size(), j.nodes.size(),
                        r.in.empty() ? std::string("no spare is") : fmt::format("only {} are", r.in.size()),
                        r.in.empty() ? "it" : "them", r.nodes.size(), j.spec.nodes);
  }
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
  w.reason.rule = lack > 0 ? "queue/smaller" : "queue/repair";
  const std::uint64_t lost = j.progress.steps - std::min(j.progress.steps, j.progress.durable_steps);
  w.reason.sentence = fmt::format("{}; it {}: {} step{} lost", r.why,
                                  j.progress.durable_steps > 0 ? fmt::format("continues from step {}", j.progress.durable_steps)
                                                               : std::string("begins anew, for it had no checkpoint yet"),
                                  lost, lost == 1 ? " is" : "s are");
  w.reason.alternatives = {"send it back to the queue: it would wait, and others would take its nodes"};
  w.reason.actor = "muster";
  return w;
}

// The engine's own word names a node that nothing is known against yet.
bool blames(const Job& j) { return j.phase == JobPhase::broken && j.last_end == JobEnd::node_failed && !j.last_detail.empty(); }

// Until the nodes that it lost are expected back in service.
double nodes_back_s(const State& s, const Job& j) {
  double back = 0;
  for (const NodeId n : failed_of(s, j, blames(j))) {
    const NodeState& node = s.nodes[n.v];
    const Incident* i = find_incident(s, node.incident);
    double here = repair_s(Verb::reboot_node);  // whatever it turns out to be
    if (node.hold == Hold::person || (i != nullptr && i->stage == Stage::held)) {
      here = repair_s(Verb::replace_node);
    } else if (const Runbook* book = i == nullptr ? nullptr : runbook_for(s, *i)) {
      here = repair_s(book->steps.empty() ? Verb::replace_node
                                          : book->steps[std::min<std::size_t>(i->rung, book->steps.size() - 1)]);
    }
    for (const Share& x : node.shares) {  // others have it
      const Job* other = x.job == j.id ? nullptr : find_job(s, x.job);
      if (other != nullptr) here = std::max(here, (expected_end_of(s, *other) - s.mono()).seconds());
    }
    back = std::max(back, here);
  }
  return back;
}

// What a gang that can go on smaller does when it has broken: by what each way would lose. Nothing: back to the queue.
std::optional<Wanted> mend_by_cost(const State& s, ClusterView& view, const Job& j, std::vector<Option>& options) {
  auto spare = mend(s, view, j);
  auto less = spare ? std::nullopt : mend_smaller(s, view, j);
  Stakes k = stakes_of(s, j, nodes_back_s(s, j));
  k.spare = spare.has_value();
  if (less) k.smaller = static_cast<double>(less->action.nodes.size()) / j.spec.nodes;
  Weighed w = weigh_broken(k, view.tree().find(view.shape_of(j.spec)).has_value());
  options = std::move(w.options);
  if (w.smaller) return less;
  return spare;
}

}  // namespace

std::optional<Wanted> mend(const State& s, ClusterView& view, const Job& j) {
  if (blames(j)) {
    if (auto w = mend_with(s, view, j, true, 0)) return w;
  }
  return mend_with(s, view, j, false, 0);
}

std::optional<Wanted> mend_smaller(const State& s, ClusterView& view, const Job& j) {
  if (j.spec.nodes_min == 0) return std::nullopt;
  for (std::size_t lack = 1; lack + j.spec.nodes_min <= j.nodes.size(); ++lack) {
    if (auto w = mend_with(s, view, j, blames(j), lack)) return w;
  }
  return std::nullopt;
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
    std::vector<Option> options;
    if (j->spec.no_requeue) {
      w.action.verb = Verb::fail_job;
      w.reason.rule = "queue/no_requeue";
      w.reason.sentence =
          fmt::format("attempt {} ended ({}), and its owner forbids that it runs again", j->attempt, name_of(j->last_end));
      w.reason.alternatives = {"requeue it: that is forbidden"};
      out.push_back(std::move(w));
      continue;
    }
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
    } else if (auto mended = j->spec.nodes_min > 0 ? mend_by_cost(s, view, *j, options) : mend(s, view, *j)) {
      w = std::move(*mended);
      w.reason.options = std::move(options);
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
      w.reason.options = std::move(options);
    }
    out.push_back(std::move(w));
  }
}

void decide_growth(const State& s, ClusterView& view, Decisions& out) {
  if (s.idle()) return;
  for (const JobId id : s.checkpointed) {
    const Job* j = find_job(s, id);
    if (j == nullptr || !may_grow(s, *j)) continue;
    const bool ordered = std::any_of(s.open_orders.begin(), s.open_orders.end(),
                                     [&](const std::string& key) { return s.orders.at(key).order.action.job == id; });
    if (ordered || node_to_blame(s, *j)) continue;
    auto choice = view.room_to_grow(*j);
    if (!choice) continue;
    const Quotas quotas = quotas_of(s);
    const Amounts all = ask_of(s, quotas, j->spec);
    Amounts more = gang_of(s, view, quotas, *j).use;
    for (std::size_t r = 0; r < kResources; ++r) more[r] = all[r] - more[r];
    if (!quotas.allows(quotas.find(queue_of(j->spec)), more)) continue;
    Stakes k = stakes_of(s, *j, 0);
    k.smaller = part_of(*j);
    Weighed weighed = weigh_growth(k);
    if (weighed.smaller) continue;
    Wanted w;
    w.action.verb = Verb::restart_job;
    w.action.job = id;
    w.action.attempt = j->attempt + 1;
    w.placement = placement_of(s.site, *choice, view.shape_of(j->spec));
    w.action.nodes = std::move(choice->nodes);
    w.reason.rule = "queue/grow";
    w.reason.sentence = fmt::format("nodes are free again: from {} to {} nodes at its checkpoint at step {}", j->nodes.size(),
                                    j->spec.nodes, j->progress.durable_steps);
    w.reason.alternatives = {"leave it as it is: it would be slower to its end"};
    w.reason.options = std::move(weighed.options);
    w.reason.actor = "muster";
    out.push_back(std::move(w));
  }
}

}  // namespace muster::decide
