#include "account/accountant.h"

#include <algorithm>

namespace muster::account {
namespace {

std::int64_t now_ms(const State& s) { return s.mono().ms(); }

Waste waste_of(const NodeState& n) {
  if (n.condition != NodeCondition::up) return Waste::down;
  if (n.hold != Hold::none || n.incident.some()) return Waste::drained;
  return Waste::idle;
}

struct Keeper {
  Accounts& a;
  const State& s;
  std::int64_t now;
  std::int64_t gpus_per_node;

  // Brings a node's clock up to now and sets what it counts from here on.
  void turn_over(NodeId id) {
    NodeClock& c = a.nodes[id.v];
    const NodeState& n = s.nodes[id.v];
    if (!c.job.some()) a.settled[c.waste] += (now - c.since_ms) * gpus_per_node;
    c.since_ms = now;
    c.waste = waste_of(n);
    c.job = a.jobs.count(n.job) != 0 ? n.job : JobId{};
  }

  // Puts a job's time up to now into the books. `kept`: the steps since the last time count as useful.
  void settle(JobClock& j, const Progress& p, bool kept) {
    std::int64_t left = now - j.settled_ms;
    const auto book = [&](Waste w, std::int64_t ms) {
      ms = std::clamp<std::int64_t>(ms, 0, left);
      a.settled[w] += ms * j.gpus;
      left -= ms;
    };
    if (!j.started) book(Waste::starting, left);
    book(Waste::starting, p.init_ms - j.seen.init_ms);
    book(Waste::checkpoint, p.checkpoint_ms - j.seen.checkpoint_ms);
    book(Waste::slow, p.slow_ms - j.seen.slow_ms);
    book(kept ? Waste::useful : Waste::lost_restart, left);
    j.settled_ms = now;
    j.seen = p;
  }

  void open_job(JobId id) {
    const Job* j = find_job(s, id);
    if (j == nullptr) return;
    JobClock c;
    c.settled_ms = now;
    c.gpus = static_cast<std::uint32_t>(j->nodes.size()) * static_cast<std::uint32_t>(gpus_per_node);
    a.jobs[id] = c;
    for (NodeId n : j->nodes) turn_over(n);
  }
  void close_job(JobId id, const Progress& p, bool kept) {
    const auto it = a.jobs.find(id);
    if (it == a.jobs.end()) return;
    settle(it->second, p, kept);
    a.jobs.erase(it);
    const Job* j = find_job(s, id);
    if (j == nullptr) return;
    for (NodeId n : j->nodes) turn_over(n);
  }

  void on(const SiteDeclared&) {
    a = Accounts{};
    a.began_ms = now;
    a.nodes.assign(s.nodes.size(), NodeClock{now, Waste::idle, {}});
  }
  void on(const OrderIntended& b) {
    if (b.order.action.verb == Verb::start_job) open_job(b.order.action.job);
  }
  void on(const JobStarted& b) {
    auto it = a.jobs.find(b.job);
    if (it == a.jobs.end()) {  // started by somebody else, or before the journal began
      open_job(b.job);
      it = a.jobs.find(b.job);
      if (it == a.jobs.end()) return;
    }
    settle(it->second, Progress{}, false);
    it->second.started = true;
  }
  void on(const JobProgressed& b) {
    const auto it = a.jobs.find(b.job);
    if (it != a.jobs.end() && it->second.started) settle(it->second, b.progress, true);
  }
  void on(const JobEnded& b) { close_job(b.job, b.progress, b.end == JobEnd::completed); }
  void on(const JobGone& b) { close_job(b.job, Progress{}, false); }
  void on(const OrderEnded& b) {
    const auto it = s.orders.find(b.key);
    if (it == s.orders.end()) return;
    const Action& act = it->second.order.action;
    if (act.verb == Verb::start_job) {
      const Job* j = find_job(s, act.job);
      if (j != nullptr && j->phase == JobPhase::queued) close_job(act.job, Progress{}, false);
    }
    if (act.node.some()) turn_over(act.node);
  }
  void on(const NodeChanged& b) {
    if (b.node.v < a.nodes.size()) turn_over(b.node);
  }
  void of_incident(IncidentId id) {
    const Incident* i = find_incident(s, id);
    if (i != nullptr && i->node.some()) turn_over(i->node);
  }
  void on(const IncidentOpened& b) { of_incident(b.id); }
  void on(const IncidentClosed& b) { of_incident(b.id); }
  template <class T>
  void on(const T&) {}
};

}  // namespace

void keep(Accounts& a, const Event& e, const State& s) {
  Keeper k{a, s, now_ms(s), static_cast<std::int64_t>(s.site.gpus_per_node)};
  std::visit([&](const auto& b) { k.on(b); }, e.body);
}

GpuHours balance(const Accounts& a, const State& s, Time mono) {
  GpuHours g = a.settled;
  const std::int64_t now = mono.ms();
  const auto gpus_per_node = static_cast<std::int64_t>(s.site.gpus_per_node);
  for (const NodeClock& c : a.nodes) {
    if (!c.job.some()) g[c.waste] += (now - c.since_ms) * gpus_per_node;
  }
  for (const auto& [id, j] : a.jobs) g[Waste::unsettled] += (now - j.settled_ms) * j.gpus;
  g.installed_ms = static_cast<std::int64_t>(a.nodes.size()) * gpus_per_node * (now - a.began_ms);
  return g;
}

double goodput(const GpuHours& g) {
  const std::int64_t base = g.installed_ms - g[Waste::idle] - g[Waste::unsettled];
  return base <= 0 ? -1.0 : static_cast<double>(g[Waste::useful]) / static_cast<double>(base);
}

}  // namespace muster::account
