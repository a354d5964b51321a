#include "act/guard.h"

#include <fmt/core.h>

#include <set>

#include "model/upgrade_limits.h"
#include "model/window.h"

namespace muster::act {
namespace {

constexpr Duration kAskAgain = minutes(30);  // and sooner when a node returns to service

Verdict refuse(std::string limit, Time retry) { return {false, {}, std::move(limit), retry, false, false}; }

bool stops_job(Verb v) { return v == Verb::requeue_job || v == Verb::restart_job; }

// The queue takes GPUs from a running job, or moves it: no job may be stopped too often, whatever it makes room for.
Verdict stop_for_the_queue(const State& s, const Action& a) {
  const Job* j = find_job(s, a.job);
  if (j == nullptr || j->phase != JobPhase::running) return {true, "needs none", {}, {}, false, false};
  std::uint32_t stops = 0;
  for (const Harm& h : s.harms) stops += stops_job(h.verb) && h.job == a.job && !h.node.some() ? 1 : 0;
  const std::uint32_t limit = s.policy.scheduling.stops_per_day;
  if (stops + 1 > limit) {
    return refuse(fmt::format("stops of job {} in a day: {} of {}", render(a.job), stops, limit), s.mono() + hours(1));
  }
  return {true, fmt::format("stops of this job in a day: {} of {}", stops + 1, limit), {}, {}, false, false};
}

// Several of its nodes fail, and each asks for the same job at the same moment: one answer is enough.
std::optional<Verdict> on_its_way(const State& s, const Action& a) {
  for (const std::string& key : s.open_orders) {
    const Action& b = s.orders.at(key).order.action;
    if (b.job != a.job || !about_broken(b.verb)) continue;
    return refuse(fmt::format("job {} is being moved or stopped already", render(a.job)), s.mono() + minutes(1));
  }
  return std::nullopt;
}

// Collects counts against their limits and remembers the tightest.
struct Tally {
  std::string tightest;
  double used = -1;
  void note(const char* what, std::uint32_t count, std::uint32_t limit) {
    const double share = limit == 0 ? 1.0 : static_cast<double>(count) / limit;
    if (share <= used) return;
    used = share;
    tightest = fmt::format("{}: {} of {}", what, count, limit);
  }
};

template <class Same>
std::uint32_t count_out(const State& s, Same same) {
  return static_cast<std::uint32_t>(std::count_if(s.out_nodes.begin(), s.out_nodes.end(), same));
}
template <class Same>
std::uint32_t count_nodes(const State& s, Same same) {
  return static_cast<std::uint32_t>(std::count_if(s.site.nodes.begin(), s.site.nodes.end(), same));
}

// Nodes out of service at one time. `a.node` itself counts once, whether it is out already or not. `share`: of the cluster's
// limit.
std::optional<Verdict> out_of_service(const State& s, const Action& a, Tally& tally, double share = 1) {
  const Limits& l = s.policy.limits;
  const NodeSpec& me = s.site.nodes[a.node.v];
  const auto spec = [&](NodeId n) -> const NodeSpec& { return s.site.nodes[n.v]; };
  struct Scope {
    const char* what;
    std::uint32_t out;
    std::uint32_t limit;
  };
  const auto others = [&](auto same) { return count_out(s, [&](NodeId n) { return n != a.node && same(n); }); };
  const std::uint32_t in_rack = count_nodes(s, [&](const NodeSpec& n) { return n.rack == me.rack; });
  const std::uint32_t in_domain = count_nodes(s, [&](const NodeSpec& n) { return n.domain == me.domain; });
  const Scope scopes[] = {
      {"nodes out of service in the cluster", others([](NodeId) { return true; }),
       allowance(l.out_cluster_pct, l.out_cluster_floor, static_cast<std::uint32_t>(s.nodes.size()))},
      {"nodes out of service in the rack", others([&](NodeId n) { return spec(n).rack == me.rack; }),
       allowance(l.out_rack_pct, l.out_rack_floor, in_rack)},
      {"nodes out of service in the NVLink domain", others([&](NodeId n) { return spec(n).domain == me.domain; }),
       in_domain == 1 ? 1 : allowance(l.out_domain_pct, l.out_domain_floor, in_domain)},
  };
  for (const Scope& x : scopes) {
    const std::uint32_t limit = &x == &scopes[0] ? part_of_limit(x.limit, share) : x.limit;
    if (x.out + 1 > limit) return refuse(fmt::format("{}: {} of {} are", x.what, x.out, limit), s.mono() + kAskAgain);
    tally.note(x.what, x.out + 1, limit);
  }
  return std::nullopt;
}

std::optional<Verdict> harm_rate(const State& s, const Action& a, Tally& tally, double share = 1) {
  const Limits& l = s.policy.limits;
  const Time hour_ago = s.mono() - hours(1);
  std::uint32_t in_hour = 0;
  std::uint32_t of_job = 0;
  Time oldest = s.mono();
  for (auto h = s.harms.rbegin(); h != s.harms.rend(); ++h) {
    if (h->at > hour_ago && h->node.some()) {
      ++in_hour;
      oldest = h->at;
    }
    if (stops_job(a.verb) && stops_job(h->verb) && h->job == a.job) ++of_job;
  }
  const std::uint32_t limit =
      part_of_limit(allowance(l.harm_per_hour_pct, l.harm_per_hour_floor, static_cast<std::uint32_t>(s.nodes.size())), share);
  if (in_hour + 1 > limit)
    return refuse(fmt::format("harmful acts in the last hour: {} of {}", in_hour, limit), oldest + hours(1));
  tally.note("harmful acts in the last hour", in_hour + 1, limit);
  if (!stops_job(a.verb)) return std::nullopt;
  if (of_job + 1 > l.job_requeues_per_day) {
    return refuse(fmt::format("stops of job {} in a day: {} of {}", render(a.job), of_job, l.job_requeues_per_day),
                  s.mono() + hours(1));
  }
  tally.note("stops of this job in a day", of_job + 1, l.job_requeues_per_day);
  return std::nullopt;
}

// Whether the cause had struck fewer than `limit` other nodes within the window before it struck this one, and that was before
// acts on it were frozen (`until`: when that ends; nothing: they are not).
bool among_the_first(const State& s, const Incident& i, std::uint32_t limit, std::optional<Time> until) {
  const Limits& l = s.policy.limits;
  const auto mine = std::find_if(s.openings.rbegin(), s.openings.rend(),
                                 [&](const Opened& o) { return o.node == i.node && o.cause == i.cause; });
  if (mine == s.openings.rend() || (until && mine->at > *until - l.cause_freeze)) return false;
  std::set<NodeId> others;
  for (auto o = std::next(mine); o != s.openings.rend() && mine->at - o->at <= l.cause_window; ++o) {
    if (o->cause == i.cause && o->node != i.node) others.insert(o->node);
  }
  return others.size() < limit;
}

// Trouble of the same kind on several nodes a moment ago: whether they share something is known in a minute or two. A drain does
// not wait for that, it can be taken back; a repair does.
std::optional<Verdict> first_know(const State& s, const Action& a, const Incident& i) {
  constexpr Duration kJudged = minutes(2);
  constexpr std::size_t kSeveral = 3;
  if (a.verb == Verb::drain_node || stops_job(a.verb)) return std::nullopt;
  std::set<NodeId> lately;
  for (auto o = s.openings.rbegin(); o != s.openings.rend() && s.mono() - o->at < kJudged; ++o) {
    if (o->cause == i.cause) lately.insert(o->node);
  }
  if (lately.size() < kSeveral) return std::nullopt;
  return refuse(fmt::format("{} on {} nodes within {}: first it must be known whether they share a cause", name_of(i.cause),
                            lately.size(), render_duration(kJudged)),
                s.mono() + kJudged);
}

// The same cause on many nodes at once: suspect the cause. The first few are never delayed.
std::optional<Verdict> breaker(const State& s, const Action& a, const Incident& i) {
  const Limits& l = s.policy.limits;
  // What many nodes share is known: nobody's node is touched for it while it stands.
  if (const Finding* cause = cause_of(s, i)) {
    return refuse(fmt::format("{} explains it: its nodes are left alone while it stands", cause->subject), s.mono() + kAskAgain);
  }
  if (auto v = first_know(s, a, i)) return v;
  const std::uint32_t limit = allowance(l.cause_pct, l.cause_floor, static_cast<std::uint32_t>(s.nodes.size()));
  auto it = s.frozen.find(i.cause);
  if (it != s.frozen.end() && it->second <= s.mono()) it = s.frozen.end();  // its time is up, and about to be said so
  // The first few go on, also when the outbreak they began is frozen; what comes later waits.
  if (among_the_first(s, i, limit, it == s.frozen.end() ? std::nullopt : std::optional(it->second))) return std::nullopt;
  if (it != s.frozen.end()) {
    return refuse(fmt::format("acts on {} are frozen: it struck many nodes at once, suspect the cause", name_of(i.cause)),
                  it->second);
  }
  std::set<NodeId> struck;
  for (const Opened& o : s.openings) {
    if (o.cause == i.cause && s.mono() - o.at <= l.cause_window) struck.insert(o.node);
  }
  if (struck.size() <= limit) return std::nullopt;
  Verdict v = refuse(fmt::format("{} on {} nodes within {}, limit {}: suspect the cause, call a person", name_of(i.cause),
                                 struck.size(), render_duration(l.cause_window), limit),
                     s.mono() + l.cause_freeze);
  v.freeze = true;
  return v;
}

// What the evidence must be like before Muster may act on a node.
std::optional<Verdict> evidence(const State& s, const Action& a, const Reason& r) {
  const Incident* i = find_incident(s, r.incident);
  if (i == nullptr) return refuse("no incident stands behind it", kNever);
  bool names_node = false;
  bool witnessed = i->disproved;
  for (FindingId id : r.findings) {
    const Finding* f = find_finding(s, id);
    if (f == nullptr || f->node != a.node) continue;
    names_node = true;
    witnessed = witnessed || has_witness_beyond_log(*f);
  }
  if (!names_node) return refuse("no evidence names this node", kNever);
  const bool live_job = stops_job(a.verb) || (destroys_work(a.verb) && s.nodes[a.node.v].busy());
  if (live_job && !witnessed) return refuse("stopping work needs a witness other than a log line", s.mono() + kAskAgain);
  if (destroys_work(a.verb) && !stops_job(a.verb) && s.nodes[a.node.v].busy()) {
    return refuse("a job runs on the node", s.mono() + kAskAgain);
  }
  return std::nullopt;
}

// Live work that the act would stop, in GPUs.
std::uint32_t blast_radius(const State& s, const Action& a) {
  const Job* j = find_job(s, a.job);
  if (!stops_job(a.verb) || j == nullptr || j->phase != JobPhase::running) return 0;
  return static_cast<std::uint32_t>(milli_gpus(s.site, j->spec) / 1000);
}

// What a person must approve first, in words; empty: nothing. An approval holds for its incident and for that kind of act.
std::string needs_approval(const State& s, const Action& a) {
  const Approvals& p = s.policy.approvals;
  if (std::find(p.verbs.begin(), p.verbs.end(), a.verb) != p.verbs.end())
    return fmt::format("the policy wants every {} approved", name_of(a.verb));
  const std::uint32_t gpus = blast_radius(s, a);
  if (p.gpus > 0 && gpus > p.gpus) return fmt::format("it stops work on {} GPUs, more than {}", gpus, p.gpus);
  const Job* j = find_job(s, a.job);
  if (p.unknown_checkpoint && gpus > 0 && !checkpoint_known(*j))
    return fmt::format("nobody knows how old the last checkpoint of job {} is", render(a.job));
  return {};
}

// A step of a rolling upgrade. It keeps within the budgets of repairs, and leaves a part of them for those: faults do not wait.

std::optional<Verdict> move_for_upgrade(const State& s, const Action& a) {
  const Job* j = find_job(s, a.job);
  if (j == nullptr) return refuse("there is no such job", kNever);
  if (j->spec.no_requeue) return refuse(fmt::format("job {} forbids that it is requeued", render(a.job)), kNever);
  if (const std::string why = needs_approval(s, a); !why.empty())
    return refuse(why + ": it is left to end", s.mono() + kAskAgain);
  std::uint32_t stops = 0;
  for (const Harm& h : s.harms) stops += stops_job(h.verb) && h.job == a.job ? 1 : 0;
  const auto limit = static_cast<std::uint32_t>(s.policy.limits.job_requeues_per_day * upgrade_share(s.upgrade));
  if (stops + 1 > limit)
    return refuse(fmt::format("stops of job {} in a day: {} of {}", render(a.job), stops, limit), s.mono() + hours(1));
  const auto has_turn = [&](NodeId n) { return in_turn(s, n); };
  if (a.verb == Verb::requeue_job && std::none_of(j->nodes.begin(), j->nodes.end(), has_turn))
    return refuse(fmt::format("no node of job {} has its turn: it would stop for nothing", render(a.job)), s.mono() + kAskAgain);
  return std::nullopt;
}

Verdict of_upgrade(const State& s, const Action& a, const Reason& r) {
  if (r.upgrade != s.upgrade.id || !at_work(s.upgrade.phase)) return refuse("that upgrade is over", kNever);
  Tally tally;
  const bool back = s.upgrade.phase == UpgradePhase::rolling_back;  // that is a repair: it has all of them
  const double share = upgrade_share(s.upgrade);
  if (stops_job(a.verb)) {
    if (auto v = move_for_upgrade(s, a)) return *v;
    if (auto v = harm_rate(s, a, tally, share)) return *v;
    return {true, tally.tightest, {}, {}, false, false};
  }
  if (a.node.v >= s.nodes.size()) return refuse("there is no such node", kNever);
  const NodeState& n = s.nodes[a.node.v];
  if (in_shadow(s, a.node)) return refuse("shadow: nothing is done to nodes of this group", kNever);
  if (n.hold == Hold::person) return refuse("a person holds this node", kNever);
  if (a.verb == Verb::install && (n.busy() || n.hold != Hold::muster))
    return refuse("the node is not drained and empty", s.mono() + kAskAgain);
  if (a.verb != Verb::drain_node) return {true, "needs none", {}, {}, false, false};
  const Duration wait = s.policy.windows.empty() ? Duration{} : until_window(s.policy.windows, s.now.utc);
  if (wait.ns > 0 && !back)
    return refuse(fmt::format("waits for a maintenance window: the next begins in {}", render_duration(wait)), s.mono() + wait);
  if (auto v = harm_rate(s, a, tally, share)) return *v;
  if (auto v = out_of_service(s, a, tally, share)) return *v;
  return {true, tally.tightest, {}, {}, false, false};
}

// A power limit takes speed, not work, and can be lifted at any time: no budget, but only for a row that is known to be hot, and
// never below the floor. Lifting needs no reason.
Verdict power_limit(const State& s, const Action& a, const Reason& r) {
  constexpr std::uint32_t kFloorPct = 60;
  if (a.limit_pct >= 100) return {true, "lifts a limit", {}, {}, false, false};
  if (a.limit_pct < kFloorPct)
    return refuse(fmt::format("a power limit of {} percent: {} is the least", a.limit_pct, kFloorPct), kNever);
  for (const NodeId n : a.nodes) {
    const auto row = s.hot_rows.find(row_of(s.site, n));
    const bool named = row != s.hot_rows.end() && row->second.finding.some() &&
                       std::find(r.findings.begin(), r.findings.end(), row->second.finding) != r.findings.end();
    if (!named) return refuse("a power limit where no finding says that the row is hot", kNever);
  }
  return {true, fmt::format("power limit: {} of at least {} percent", a.limit_pct, kFloorPct), {}, {}, false, false};
}

// A drain that is held back must not keep a job hanging on the node until the limit is asked again.
Verdict sooner_for_a_hanging_job(const State& s, const Action& a, const Reason& r, Verdict v) {
  const Runbook* book = runbook_for(s, *find_incident(s, r.incident));
  const bool hanging = a.verb == Verb::drain_node && s.nodes[a.node.v].busy() && book != nullptr && book->job == JobCare::requeue;
  if (hanging) v.retry = std::min(v.retry, s.mono() + s.policy.requeue_after);
  return v;
}

std::optional<Verdict> approval(const State& s, const Action& a, const Reason& r, std::string& granted_by) {
  const std::string why = needs_approval(s, a);
  if (why.empty()) return std::nullopt;
  for (const auto& [id, x] : s.approvals) {
    if (x.incident != r.incident || x.action.verb != a.verb) continue;
    if (x.rejected) return refuse(fmt::format("{} said no to approval {}", x.by, id), kNever);
    if (x.granted) {
      granted_by = x.by;
      return std::nullopt;
    }
    if (x.until > s.mono()) return refuse(fmt::format("waits for approval {}: {}", id, x.why), x.until);
  }
  Verdict v = refuse(why, s.mono() + s.policy.approvals.patience);
  v.ask = true;
  return v;
}

// Work that can wait is done in the policy's windows.
std::optional<Verdict> maintenance(const State& s, const Incident& i) {
  const Runbook* book = runbook_for(s, i);
  if (book == nullptr || !book->window || s.policy.windows.empty()) return std::nullopt;
  const Duration wait = until_window(s.policy.windows, s.now.utc);
  if (wait.ns == 0) return std::nullopt;
  return refuse(fmt::format("can wait for a maintenance window: the next begins in {}", render_duration(wait)), s.mono() + wait);
}

}  // namespace

Verdict Guard::check(const State& s, const Action& a, const Reason& r) const {
  const bool persons = !r.wish.empty();
  if (s.policy.shadow) return refuse("shadow: nothing is done, whoever asks for it", kNever);
  if (s.paused && !persons) return refuse(fmt::format("paused by {}", s.paused_by), kNever);
  if (persons) return {true, "asked for by a person: no budget applies", {}, {}, false, false};
  if (a.verb == Verb::limit_power) return power_limit(s, a, r);
  if (stops_job(a.verb)) {
    if (auto v = on_its_way(s, a)) return *v;
  }
  if (r.upgrade != 0) return of_upgrade(s, a, r);
  // Starting and requeueing a broken gang, probing, testing an empty node and giving it back take nothing from anybody.
  const bool of_queue = !r.incident.some();
  if (of_queue && stops_job(a.verb)) return stop_for_the_queue(s, a);
  if (of_queue || !harmful(a.verb)) return {true, "needs none", {}, {}, false, false};
  if (a.node.v >= s.nodes.size()) return refuse("there is no such node", kNever);
  if (in_shadow(s, a.node)) return refuse("shadow: nothing is done to nodes of this group", kNever);
  if (s.nodes[a.node.v].hold == Hold::person) return refuse("a person holds this node", kNever);
  if (const Job* j = find_job(s, a.job); stops_job(a.verb) && j != nullptr && j->spec.no_requeue)
    return refuse(fmt::format("job {} forbids that it is requeued", render(a.job)), kNever);
  if (auto v = evidence(s, a, r)) return *v;
  if (auto v = maintenance(s, *find_incident(s, r.incident))) return *v;
  if (auto v = breaker(s, a, *find_incident(s, r.incident))) return *v;
  Tally tally;
  if (auto v = harm_rate(s, a, tally)) return sooner_for_a_hanging_job(s, a, r, *v);
  if (!stops_job(a.verb)) {
    if (auto v = out_of_service(s, a, tally)) return sooner_for_a_hanging_job(s, a, r, *v);
  }
  std::string approved_by;
  if (auto v = approval(s, a, r, approved_by)) return *v;
  if (!approved_by.empty()) tally.tightest += fmt::format("; approved by {}", approved_by);
  return {true, tally.tightest, {}, {}, false, false};
}

}  // namespace muster::act
