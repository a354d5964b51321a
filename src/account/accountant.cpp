#include "account/accountant.h"

#include <algorithm>

namespace muster::account {
namespace {

std::int64_t now_ms(const State& s) { return s.mono().ms(); }

Waste waste_of(const State& s, const NodeState& n) {
  if (n.condition != NodeCondition::up) return Waste::down;
  if (n.hold != Hold::none) return Waste::drained;
  const Incident* i = find_incident(s, n.incident);
  return i != nullptr && leaves_nothing_to_run_on(i->cause) ? Waste::down : Waste::idle;
}

struct Keeper {
  Accounts& a;
  const State& s;
  std::int64_t now;
  std::int64_t gpus_per_node;

  // Brings a node's clock up to now and sets what it counts from here on.
  void turn_over(NodeId id) {
    if (id.v >= a.nodes.size()) return;
    NodeClock& c = a.nodes[id.v];
    const NodeState& n = s.nodes[id.v];
    if (!c.job.some()) a.settled[c.waste] += (now - c.since_ms) * gpus_per_node;
    const JobId owner = a.jobs.count(n.job) != 0 ? n.job : JobId{};
    if (c.job != owner) {
      resize(c.job, -gpus_per_node);
      resize(owner, gpus_per_node);
    }
    c.since_ms = now;
    c.waste = waste_of(s, n);
    c.job = owner;
  }
  // A gang that is in the books grows or shrinks. Only an unexpected word of an engine finds anything to settle here.
  void resize(JobId id, std::int64_t gpus) {
    const auto it = a.jobs.find(id);
    if (it == a.jobs.end()) return;
    settle(it->second, it->second.seen, false);
    it->second.gpus = static_cast<std::uint32_t>(it->second.gpus + gpus);
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

  // Puts a gang into the books, on the nodes that it has now.
  void open_job(JobId id) {
    const Job* j = find_job(s, id);
    if (j == nullptr) return;
    JobClock fresh;
    fresh.settled_ms = now;
    const auto [it, is_new] = a.jobs.try_emplace(id, fresh);
    const auto here = [&](NodeId n) { return n.v < a.nodes.size() && a.nodes[n.v].job == id; };
    const auto size = static_cast<std::int64_t>(j->nodes.size()) * gpus_per_node;
    if (!is_new && it->second.gpus == size && std::all_of(j->nodes.begin(), j->nodes.end(), here)) return;
    for (std::uint32_t n = 0; !is_new && n < a.nodes.size(); ++n) {  // other nodes than ordered: those are free again
      if (here(NodeId{n})) turn_over(NodeId{n});
    }
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
    const Job* j = find_job(s, b.job);
    if (j == nullptr || j->phase != JobPhase::running) return;
    open_job(b.job);  // if started by somebody else, or elsewhere than ordered
    const auto it = a.jobs.find(b.job);
    settle(it->second, Progress{}, false);
    it->second.started = true;
  }
  void on(const JobProgressed& b) {
    const auto it = a.jobs.find(b.job);
    const Job* j = find_job(s, b.job);
    if (it != a.jobs.end() && it->second.started && j != nullptr && j->attempt == b.attempt) settle(it->second, b.progress, true);
  }
  void on(const JobEnded& b) {
    const Job* j = find_job(s, b.job);
    const bool lives_on = j != nullptr && (j->phase == JobPhase::running || j->phase == JobPhase::starting);
    if (!lives_on) close_job(b.job, b.progress, b.end == JobEnd::completed);  // else it was about another attempt
  }
  void on(const JobRequeued& b) { close_job(b.job, Progress{}, false); }  // normally after its end: then there is nothing left
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
