#include "decide/queue.h"

#include <fmt/core.h>

namespace muster::decide {
namespace {

constexpr std::size_t kStartsPerTurn = 2000;  // bounds the work of one turn
constexpr std::uint32_t kAppFailures = 3;     // a program that fails this often by itself is given up

// Trouble on one of the nodes explains a failure that the engine blames on the program.
bool node_to_blame(const State& s, const Job& j) {
  return std::any_of(j.nodes.begin(), j.nodes.end(),
                     [&](NodeId n) { return n.v < s.nodes.size() && s.nodes[n.v].incident.some(); });
}

}  // namespace

void decide_queue(const State& s, Placer& placer, Decisions& out) {
  placer.update(s);
  if (!s.queue_dirty || s.paused) return;
  std::size_t started = 0;
  for (const auto& [order, id] : s.queue) {
    const Job& j = s.jobs.at(id);
    if (j.spec.nodes > s.nodes.size()) continue;  // can never start; must not block the others
    if (started++ == kStartsPerTurn) break;
    auto choice = placer.place(j.spec.nodes);
    if (!choice) break;  // strictly in order: nobody overtakes
    Wanted w;
    w.action.verb = Verb::start_job;
    w.action.job = id;
    w.action.attempt = j.attempt + 1;
    w.action.nodes = std::move(choice->nodes);
    w.reason.rule = "queue/fifo";
    w.reason.sentence = fmt::format("first in the queue; {} nodes on {} leaf switch{}", j.spec.nodes, choice->placement.leaves,
                                    choice->placement.leaves == 1 ? "" : "es");
    w.reason.actor = "muster";
    w.placement = std::move(choice->placement);
    out.push_back(std::move(w));
  }
}

void decide_broken(const State& s, Decisions& out) {
  if (s.paused) return;
  for (JobId id : s.broken_jobs) {
    const Job* j = find_job(s, id);
    if (j == nullptr || j->phase != JobPhase::broken) continue;
    Wanted w;
    w.action.job = id;
    w.action.attempt = j->attempt;
    w.reason.actor = "muster";
    const bool own_fault = j->last_end == JobEnd::app_failed && !node_to_blame(s, *j);
    if (j->restarts >= s.policy.job_restarts_max || (own_fault && j->app_failures >= kAppFailures)) {
      w.action.verb = Verb::fail_job;
      w.reason.rule = "queue/give_up";
      w.reason.sentence =
          own_fault ? fmt::format("the program failed by itself {} times, and no node of it has a fault", j->app_failures)
                    : fmt::format("{} restarts, the policy allows {}", j->restarts, s.policy.job_restarts_max);
      w.reason.alternatives = {"requeue once more: it would most likely fail again"};
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

std::string why_not_started(const State& s, JobId job) {
  const Job* j = find_job(s, job);
  if (j == nullptr || j->phase != JobPhase::queued) return {};
  if (s.paused) return fmt::format("Muster is paused by {}: nothing is started", s.paused_by);
  std::uint32_t ahead = 0;
  for (const auto& [order, id] : s.queue) {
    if (id == job) break;
    ++ahead;
  }
  std::uint32_t free = 0;
  for (std::uint32_t n = 0; n < s.nodes.size(); ++n) free += placeable(s, NodeId{n}) ? 1 : 0;
  if (j->spec.nodes > s.nodes.size()) {
    return fmt::format("it asks for {} nodes and the cluster has {}: it can never start", j->spec.nodes, s.nodes.size());
  }
  if (ahead > 0) {
    const Job& head = s.jobs.at(s.queue.begin()->second);
    return fmt::format(
        "{} job{} before it; the first, job {}, waits for {} nodes and {} are free. The queue is strictly first in, first out",
        ahead, ahead == 1 ? " is" : "s are", render(head.id), head.spec.nodes, free);
  }
  return fmt::format("it is first in the queue and waits for {} nodes; {} are free", j->spec.nodes, free);
}

}  // namespace muster::decide
