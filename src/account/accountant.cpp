#include "account/accountant.h"

#include <algorithm>
#include <bit>

namespace muster::account {
namespace {

std::int64_t now_ms(const State& s) { return s.mono().ms(); }
std::int64_t node_milli(const State& s) { return std::int64_t{1000} * s.site.gpus_per_node; }  // of a whole node

Waste waste_of(const State& s, const NodeState& n) {
  if (n.condition == NodeCondition::kept || (n.condition == NodeCondition::up && n.hold != Hold::none)) return Waste::drained;
  if (n.condition != NodeCondition::up) return Waste::down;
  const Incident* i = find_incident(s, n.incident);
  return i != nullptr && leaves_nothing_to_run_on(i->cause) ? Waste::down : Waste::idle;
}

using Owners = std::vector<std::pair<JobId, std::int64_t>>;

std::int64_t unowned(const NodeClock& c, std::int64_t whole_node) {
  for (const auto& [job, milli] : c.jobs) whole_node -= milli;
  return whole_node;
}

struct Keeper {
  Accounts& a;
  const State& s;
  std::int64_t now;
  const Reader& reader;

  void book(const Entry& x) {
    a.settled[x.waste] += x.amount;
    if (reader) reader(x);
  }
  // Brings a node's clock up to now and sets what it counts from here on.
  void turn_over(NodeId id) {
    if (id.v >= a.nodes.size()) return;
    NodeClock& c = a.nodes[id.v];
    const NodeState& n = s.nodes[id.v];
    book({{}, id, c.waste, (now - c.since_ms) * unowned(c, node_milli(s))});
    Owners owners;
    for (const Share& x : n.shares) {
      if (a.jobs.count(x.job) != 0) owners.emplace_back(x.job, std::int64_t{x.milli} * std::popcount(x.slots));
    }
    if (c.jobs != owners) {
      const Owners before = std::move(c.jobs);
      c.jobs = owners;
      // Who has what he had is left alone: his time goes on.
      const auto in = [](const Owners& o, const auto& x) { return std::find(o.begin(), o.end(), x) != o.end(); };
      for (const auto& x : before) {
        if (!in(owners, x)) resize(x.first, -x.second);
      }
      for (const auto& x : owners) {
        if (!in(before, x)) resize(x.first, x.second);
      }
    }
    c.since_ms = now;
    c.waste = waste_of(s, n);
  }
  // A gang that is in the books grows or shrinks. Only an unexpected word of an engine finds anything to settle here.
  void resize(JobId id, std::int64_t milli) {
    const auto it = a.jobs.find(id);
    if (it == a.jobs.end()) return;
    settle(id, it->second, it->second.seen, false);
    it->second.milli += milli;
  }

  // Puts a job's time up to now into the books. `kept`: the steps since the last time count as useful.
  void settle(JobId id, JobClock& j, const Progress& p, bool kept) {
    std::int64_t left = now - j.settled_ms;
    const auto take = [&](Waste w, std::int64_t ms) {
      ms = std::clamp<std::int64_t>(ms, 0, left);
      book({id, {}, w, ms * j.milli});
      left -= ms;
    };
    if (!j.started) take(Waste::starting, left);
    take(Waste::starting, p.init_ms - j.seen.init_ms);
    take(Waste::checkpoint, p.checkpoint_ms - j.seen.checkpoint_ms);
    take(Waste::slow, p.slow_ms - j.seen.slow_ms);
    take(kept ? Waste::useful : Waste::lost_restart, left);
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
    const auto here = [&](NodeId n) {
      if (n.v >= a.nodes.size()) return false;
      const Owners& o = a.nodes[n.v].jobs;
      return std::any_of(o.begin(), o.end(), [&](const auto& x) { return x.first == id; });
    };
    const auto kept = [&](NodeId n) { return here(n) && owned(n, id) == on_node(n, id); };
    if (!is_new && it->second.milli == size_of(*j) && std::all_of(j->nodes.begin(), j->nodes.end(), kept)) return;
    for (std::uint32_t n = 0; !is_new && n < a.nodes.size(); ++n) {  // other nodes than ordered: those are free again
      if (here(NodeId{n})) turn_over(NodeId{n});
    }
    for (NodeId n : j->nodes) turn_over(n);
  }
  // What a job has of a node, by the books and by the state.
  std::int64_t owned(NodeId n, JobId id) const {
    for (const auto& [job, milli] : a.nodes[n.v].jobs) {
      if (job == id) return milli;
    }
    return 0;
  }
  std::int64_t on_node(NodeId n, JobId id) const {
    for (const Share& x : s.nodes[n.v].shares) {
      if (x.job == id) return std::int64_t{x.milli} * std::popcount(x.slots);
    }
    return 0;
  }
  std::int64_t size_of(const Job& j) const {
    std::int64_t sum = 0;
    for (NodeId n : j.nodes) sum += n.v < s.nodes.size() ? on_node(n, j.id) : 0;
    return sum;
  }
  void close_job(JobId id, const Progress& p, bool kept) {
    const auto it = a.jobs.find(id);
    if (it == a.jobs.end()) return;
    settle(id, it->second, p, kept);
    std::int64_t left = it->second.milli;
    a.jobs.erase(it);
    const auto give_up = [&](NodeId n) {
      if (n.v >= a.nodes.size()) return;
      left -= owned(n, id);
      turn_over(n);
    };
    if (const Job* j = find_job(s, id)) {
      for (NodeId n : j->nodes) give_up(n);
    }
    // Nodes kept for a restart of it count for nobody until it starts there.
    for (std::uint32_t n = 0; left != 0 && n < a.nodes.size(); ++n) {
      if (owned(NodeId{n}, id) != 0) give_up(NodeId{n});
    }
  }

  void on(const SiteDeclared&) {
    a = Accounts{};
    a.began_ms = now;
    a.nodes.assign(s.nodes.size(), NodeClock{now, Waste::idle, {}});
  }
  void on(const OrderIntended& b) {
    const Action& act = b.order.action;
    if (act.verb == Verb::start_job) open_job(act.job);
    if (act.verb == Verb::restart_job) {  // what is kept for it is its own from now on
      for (NodeId n : act.nodes) turn_over(n);
    }
  }
  void on(const JobStarted& b) {
    const Job* j = find_job(s, b.job);
    if (j == nullptr || j->phase != JobPhase::running) return;
    open_job(b.job);  // if started by somebody else, or elsewhere than ordered
    const auto it = a.jobs.find(b.job);
    settle(b.job, it->second, Progress{}, false);
    it->second.started = true;
  }
  void on(const JobProgressed& b) {
    const auto it = a.jobs.find(b.job);
    const Job* j = find_job(s, b.job);
    if (it != a.jobs.end() && it->second.started && j != nullptr && j->attempt == b.attempt)
      settle(b.job, it->second, b.progress, true);
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
    if (act.verb == Verb::restart_job) {
      for (NodeId n : act.nodes) turn_over(n);
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

void keep(Accounts& a, const Event& e, const State& s, const Reader& reader) {
  Keeper k{a, s, now_ms(s), reader};
  std::visit([&](const auto& b) { k.on(b); }, e.body);
}

GpuHours balance(const Accounts& a, const State& s, Time mono, const Reader& reader) {
  GpuHours g = a.settled;
  const auto add = [&](const Entry& x) {
    g[x.waste] += x.amount;
    if (reader) reader(x);
  };
  const std::int64_t now = mono.ms();
  for (std::uint32_t n = 0; n < a.nodes.size(); ++n) {
    const NodeClock& c = a.nodes[n];
    add({{}, NodeId{n}, c.waste, (now - c.since_ms) * unowned(c, node_milli(s))});
  }
  for (const auto& [id, j] : a.jobs) add({id, {}, Waste::unsettled, (now - j.settled_ms) * j.milli});
  g = whole(g);
  g.installed_ms = static_cast<std::int64_t>(a.nodes.size()) * s.site.gpus_per_node * (now - a.began_ms);
  return g;
}

std::int64_t unbooked(const Accounts& a, const State& s, NodeId n) {
  const NodeClock& c = a.nodes[n.v];
  return (now_ms(s) - c.since_ms) * unowned(c, node_milli(s));
}

GpuHours whole(GpuHours g) {
  std::int64_t rest = 0;
  for (std::int64_t& ms : g.ms) {
    rest += ms % 1000;
    ms /= 1000;
  }
  g[Waste::idle] += rest / 1000;
  return g;
}

double goodput(const GpuHours& g) {
  const std::int64_t base = g.installed_ms - g[Waste::idle] - g[Waste::unsettled];
  return base <= 0 ? -1.0 : static_cast<double>(g[Waste::useful]) / static_cast<double>(base);
}

}  // namespace muster::account
