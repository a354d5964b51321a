#include <fmt/core.h>

#include <bit>

#include "model/codec.h"
#include "model/fold_clock.h"
#include "model/fold_heat.h"
#include "model/fold_jobs.h"
#include "model/fold_recovery.h"
#include "model/fold_upgrade.h"
#include "model/state.h"

namespace muster {
namespace {

constexpr Duration kHarmKept = days(1);           // the longest budget window
constexpr Duration kOpeningKept = hours(2);       // longer than any correlation window
constexpr Duration kPromise = minutes(10);        // how long a job is first in line for what others were stopped for
constexpr Duration kPromiseOfUpgrade = hours(1);  // its nodes are away for their turn before it gets them back
constexpr std::size_t kCommandsKept = 4096;

template <class Map, class Deque>
void retire(Map& kept, Deque& order, typename Deque::value_type key) {
  order.push_back(key);
  while (order.size() > kEndedKept) {
    kept.erase(order.front());
    order.pop_front();
  }
}

struct Folder {
  State& s;
  const Event& e;

  Job* job(JobId id) {
    const auto it = s.jobs.find(id);
    return it == s.jobs.end() ? nullptr : &it->second;
  }
  // An open one.
  Incident* incident(IncidentId id) {
    const auto it = s.incidents.find(id);
    return it == s.incidents.end() || it->second.closed.ns != 0 ? nullptr : &it->second;
  }
  NodeState* node(NodeId id) { return id.v < s.nodes.size() ? &s.nodes[id.v] : nullptr; }

  void touch(NodeId id) {
    touch_taken(id);
    s.queue_dirty = true;
  }
  // Work came to it. That lets nobody else start: who could was started in the same pass.
  void touch_taken(NodeId id) {
    s.nodes[id.v].changed = e.utc;
    s.dirty_nodes.insert(id);
    if (s.nodes[id.v].incident.some()) s.dirty_incidents.insert(s.nodes[id.v].incident);
  }
  void note(Incident& i, std::string text) { muster::note(i, e.utc, std::move(text)); }
  void enter(Incident& i, Stage stage) {
    if (i.stage != stage) i.since = s.mono();
    i.stage = stage;
  }
  // The cause is the gravest finding that is still there. Another cause has another ladder, which begins at its first rung.
  void reconsider(Incident& i) {
    const Finding* gravest = nullptr;
    for (FindingId id : i.findings) {
      const Finding* f = find_finding(s, id);
      if (f != nullptr && f->cleared.ns == 0 && (gravest == nullptr || f->severity > gravest->severity)) gravest = f;
    }
    if (gravest == nullptr || same_trouble(*gravest, i.cause, i.code)) return;
    i.cause = gravest->kind;
    i.slot = gravest->slot;
    i.code = gravest->code;
    i.rung = 0;
    i.repaired = false;
  }
  void schedule(Incident& i, Time due) {
    s.timers.erase({i.due, i.id});
    i.due = due;
    if (due.ns != 0 && due != kNever) s.timers.insert({due, i.id});
  }
  // Takes a job's share off a node; returns what it was, in thousandths of GPUs.
  std::int64_t drop(NodeState& n, JobId id) {
    std::int64_t milli = 0;
    std::erase_if(n.shares, [&](const Share& x) {
      if (x.job == id) milli += std::int64_t{x.milli} * std::popcount(x.slots);
      return x.job == id;
    });
    return milli;
  }
  // The job's queue has so much more, from now on.
  void charge(JobId id, std::int64_t milli) {
    const Job* j = job(id);
    if (milli == 0 || j == nullptr) return;
    QueueUse& q = s.used[queue_of(j->spec)];
    accrue(q.past, q.held, s.mono(), s.policy.scheduling.half_life);
    const Amounts more = amounts_of(s, j->spec, milli);
    for (std::size_t r = 0; r < kResources; ++r) q.held[r] += more[r];
  }
  // The policy tells other models apart than before.
  void recount_held() {
    for (auto& [name, q] : s.used) {
      accrue(q.past, q.held, s.mono(), s.policy.scheduling.half_life);
      q.held = {};
    }
    for (const NodeState& n : s.nodes) {
      for (const Share& x : n.shares) charge(x.job, std::int64_t{x.milli} * std::popcount(x.slots));
    }
  }
  void release(JobId id, const std::vector<NodeId>& nodes) {
    std::int64_t milli = 0;
    for (NodeId n : nodes) {
      NodeState* ns = node(n);
      const std::int64_t here = ns == nullptr ? 0 : drop(*ns, id);
      if (here > 0) touch(n);
      milli += here;
    }
    charge(id, -milli);
  }
  void release(Job& j) { release(j.id, j.nodes); }
  // GPUs of nodes become the job's. What it had of them already is replaced.
  void occupy(const Job& j, const std::vector<NodeId>& nodes, const std::vector<std::uint16_t>& slots) {
    std::int64_t more = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      NodeState* ns = node(nodes[i]);
      if (ns == nullptr) continue;
      more -= drop(*ns, j.id);
      const std::uint16_t mask = i < slots.size() ? slots[i] : all_slots(s.site);
      const auto milli = static_cast<std::uint16_t>(j.spec.gpu_milli > 0 ? j.spec.gpu_milli : 1000);
      // What the engine says holds: who had these GPUs before and no longer fits beside it has them no more.
      while (!room_for(s, nodes[i], mask, milli, j.id)) {
        const auto rival = [&](const Share& x) { return (x.slots & mask) != 0; };
        const JobId loser = std::find_if(ns->shares.begin(), ns->shares.end(), rival)->job;
        charge(loser, -drop(*ns, loser));
        if (Job* o = job(loser)) {
          release(*o);
          forget_place(s, *o);
        }
      }
      ns->shares.push_back({j.id, mask, milli});
      more += std::int64_t{milli} * std::popcount(mask);
      touch_taken(nodes[i]);
    }
    charge(j.id, more);
  }
  bool leave_queue(Job& j) {
    s.followers.erase(j.id);
    return s.queue.erase({j.order, j.id}) > 0;
  }
  // When something was that an engine tells of now. A time to come is a clock that is wrong.
  Time moment(Time at) const { return at.ns > 0 && at < e.utc ? at : e.utc; }
  void finish(Job& j, JobPhase phase, Time at = {}) {
    leave_queue(j);
    s.placed.erase(j.id);
    j.phase = phase;
    j.ended = moment(at);
    if (phase == JobPhase::completed) ++s.totals.jobs_completed;
    if (phase == JobPhase::failed) ++s.totals.jobs_failed;
    if (phase == JobPhase::cancelled) ++s.totals.jobs_cancelled;
    s.broken_jobs.erase(j.id);
    s.queue_dirty = true;
    const JobId id = j.id;
    tell_followers(s, id, phase == JobPhase::completed);
    retire_job(s, id);
  }
  void enqueue(Job& j) {
    j.phase = JobPhase::queued;
    s.placed.erase(j.id);
    if (!j.waits_for.empty()) s.followers.insert(j.id);
    j.queued = s.mono();
    s.queue.insert({j.order, j.id});
    s.broken_jobs.erase(j.id);
    s.queue_dirty = true;
  }
  void answered(const Reason& r) {
    std::erase_if(s.wishes, [&](const CommandGiven& w) { return !r.wish.empty() && w.id == r.wish; });
  }

  // ---- the controller
  void operator()(const RunStarted& b) {
    const Time before = s.mono();
    // A first run begins at its own clock; later ones go on where the time stood, however the clock was set meanwhile.
    s.mono_offset = s.site.nodes.empty() ? Duration{} : before - b.now.steady;
    s.utc_jump = {};
    s.now = b.now;
    s.epoch = b.epoch;
    s.rules = b.rules;
    s.journal = b.journal;
    refresh(s);
  }
  void operator()(const SiteDeclared& b) {
    s.site = b.site;
    s.nodes.assign(b.site.nodes.size(), NodeState{});
    for (NodeState& n : s.nodes) n.changed = e.utc;
    refresh(s);
  }
  void operator()(const CablesDeclared& b) { s.site.cables = b.cables; }
  void operator()(const PoolsDeclared& b) { s.site.pools = b.pools; }
  void operator()(const PolicyApplied& b) {
    const bool other_models = scarce_models(s.policy) != scarce_models(b.policy);
    s.policy = b.policy;
    s.policy_hash = b.hash;
    if (other_models) recount_held();
    refresh(s);
  }
  void operator()(const TurnBegan& b) {
    const Time before = s.mono();
    s.turn = b.turn;
    keep_clock(s, b.now);
    s.now = b.now;
    if (s.mono() < before) s.mono_offset = before - b.now.steady;  // the clock stood still or went back
    const Time now = s.mono();
    while (!s.harms.empty() && now - s.harms.front().at > kHarmKept) s.harms.pop_front();
    while (!s.openings.empty() && now - s.openings.front().at > kOpeningKept) s.openings.pop_front();
  }

  // ---- jobs
  void operator()(const JobSubmitted& b) {
    Job j;
    if (!new_life(s, b.job, j.attempt)) return;
    j.id = b.job;
    j.spec = b.spec;
    j.order = s.next_order++;
    j.submitted = e.utc;
    // One that is not known any more has ended long ago; how, nobody knows, and its owner asked after it did.
    for (const JobId named : b.spec.after) {
      for (const JobId id : members_of(s, named)) {
        const Job* before = job(id);
        if (before->phase == JobPhase::completed) continue;
        if (ended(before->phase)) j.hopeless = true;
        j.waits_for.push_back(id);
      }
    }
    ++s.totals.jobs_submitted;
    enqueue(s.jobs[b.job] = std::move(j));
  }
  void operator()(const JobAmended& b) { amend_job(s, b); }
  void operator()(const JobStarted& b) {
    Job* j = job(b.job);
    if (j == nullptr || ended(j->phase)) return;
    if (leave_queue(*j)) j->waited = j->waited + (s.mono() - j->queued);
    const bool as_ordered = j->nodes == b.nodes && j->slots == b.slots;
    const bool dirty = s.queue_dirty;
    release(*j);
    if (as_ordered) s.queue_dirty = dirty;
    const Time at = moment(b.at);
    j->began = s.mono() - (e.utc - at);
    j->paused_until = j->promised_until = {};
    j->phase = JobPhase::running;
    s.placed.insert(j->id);
    j->attempt = b.attempt;
    j->started = at;
    j->ended = {};
    j->nodes = b.nodes;
    j->slots = b.slots;
    j->checkpointed = at;  // then it held nothing that is not safe
    j->paced_every = {};
    s.broken_jobs.erase(j->id);
    j->progress.init_ms = j->progress.checkpoint_ms = j->progress.slow_ms = j->progress.checkpoints = 0;
    j->progress.steps = j->progress.durable_steps;  // it goes on from its checkpoint
    occupy(*j, b.nodes, b.slots);
  }
  void operator()(const JobProgressed& b) {
    Job* j = job(b.job);
    if (j == nullptr || j->attempt != b.attempt) return;
    if (b.progress.durable_steps > j->progress.durable_steps) {
      j->checkpointed = e.utc;
      s.checkpointed.insert(j->id);
      if (j->spec.nodes_min > 0 && !j->nodes.empty() && j->nodes.size() < j->spec.nodes) {
        s.dirty_nodes.insert(j->nodes.front());  // it runs with fewer nodes than it asked for: now it could grow
      }
      for (NodeId n : j->nodes) {  // an incident there may have waited for this to move it
        if (n.v < s.nodes.size() && s.nodes[n.v].incident.some()) s.dirty_incidents.insert(s.nodes[n.v].incident);
      }
    }
    told(*j, b.progress);
  }
  void operator()(const JobEnded& b) {
    Job* j = job(b.job);
    if (j == nullptr || j->attempt != b.attempt || (j->phase != JobPhase::running && j->phase != JobPhase::starting)) return;
    release(*j);
    if (j->phase == JobPhase::running) {  // it may have run while nobody counted
      const Time at = moment(b.at);
      add_run(s, *j, b.end, b.at.ns > 0 ? at - j->started : s.mono() - j->began, at - j->checkpointed);
    }
    told(*j, b.progress);
    j->last_end = b.end;
    j->last_detail = b.detail;
    switch (b.end) {
      case JobEnd::completed: return finish(*j, JobPhase::completed, b.at);
      case JobEnd::cancelled: return finish(*j, JobPhase::cancelled, b.at);
      case JobEnd::timed_out: ++s.totals.jobs_timed_out; return finish(*j, JobPhase::failed, b.at);
      case JobEnd::app_failed:
      case JobEnd::node_failed:
        lost(*j, b.end);
        s.broken_jobs.insert(j->id);
        [[fallthrough]];
      case JobEnd::requeued: break;
    }
    j->phase = JobPhase::broken;
    s.placed.erase(j->id);
    j->ended = moment(b.at);
    s.queue_dirty = true;
    for (const std::string& key : s.open_orders) {  // a restart under way keeps its nodes, those it had among them
      const Action& a = s.orders.at(key).order.action;
      if (a.verb == Verb::restart_job && a.job == j->id && a.attempt > j->attempt) occupy(*j, a.nodes, a.slots);
    }
  }
  void operator()(const JobRequeued& b) {
    Job* j = job(b.job);
    if (j == nullptr || ended(j->phase)) return;
    ++s.totals.requeues;
    release(*j);  // an engine says so only after its end; but what it says holds
    enqueue(*j);
  }
  void operator()(const JobGone& b) {
    Job* j = job(b.job);
    if (j == nullptr || ended(j->phase)) return;
    release(*j);
    finish(*j, b.end == JobEnd::cancelled ? JobPhase::cancelled : JobPhase::failed);
  }

  // ---- nodes and findings
  void operator()(const NodeHeld& b) {
    const NodeState* n = node(b.node);
    if (n == nullptr || (b.engine && n->hold != Hold::none)) return;  // who has it keeps it
    hold(b.node, !b.held ? Hold::none : b.engine ? Hold::engine : Hold::person, b.why);
  }
  void operator()(const NodeChanged& b) {
    NodeState* n = node(b.node);
    if (n == nullptr) return;
    n->condition = b.condition;
    touch(b.node);
    if (b.condition == NodeCondition::up) limit_again(s, row_of(s.site, b.node));
  }
  void operator()(const RowMeasured& b) { measure_row(s, b); }
  void operator()(const GpuSwapped& b) {
    NodeState* n = node(b.node);
    if (n == nullptr) return;
    ++n->swaps;
    n->past.clear();  // what is there now has not failed yet
  }
  void operator()(const FindingOpened& b) {
    if (s.findings.count(b.finding.id) != 0) return;
    s.findings[b.finding.id] = b.finding;
    s.next_finding = std::max(s.next_finding, b.finding.id.v + 1);
    s.new_findings.insert(b.finding.id);
    index_finding(s, b.finding.id);
    if (b.finding.kind == FindingKind::row_hot && b.finding.slot >= 0) {
      s.hot_rows[static_cast<std::uint32_t>(b.finding.slot)].finding = b.finding.id;
    }
  }
  void operator()(const FindingGrew& b) {
    const auto it = s.findings.find(b.id);
    if (it == s.findings.end()) return;
    Finding& f = it->second;
    f.severity = std::max(f.severity, b.severity);
    if (b.part_of.some() && f.cleared.ns == 0) {
      unindex_finding(s, b.id);
      f.part_of = b.part_of;
      index_finding(s, b.id);
    }
    if (b.evidence.text.empty()) return;
    f.evidence.push_back(b.evidence);
    if (f.evidence.size() > kEvidenceMax) f.evidence.erase(f.evidence.begin() + kEvidenceMax / 2);
    if (NodeState* n = node(f.node); n != nullptr && n->incident.some()) s.dirty_incidents.insert(n->incident);
  }
  void operator()(const FindingCleared& b) {
    const auto it = s.findings.find(b.id);
    if (it == s.findings.end() || it->second.cleared.ns != 0) return;
    clear_finding(s, b.id, e.utc);
    if (const auto row = s.hot_rows.find(static_cast<std::uint32_t>(it->second.slot));
        it->second.kind == FindingKind::row_hot && row != s.hot_rows.end() && row->second.finding == b.id) {
      row->second.finding = {};
      cool_down(s, row->first);
    }
    if (NodeState* n = node(it->second.node); n != nullptr && n->incident.some()) {
      if (Incident* i = incident(n->incident)) reconsider(*i);
      touch(it->second.node);
    }
    if (!it->second.node.some()) {
      for (const auto& [id, i] : s.incidents) {
        if (!i.node.some() && i.closed.ns == 0) s.dirty_incidents.insert(id);
      }
    }
    retire(s.findings, s.cleared_findings, b.id);
  }

  // ---- orders
  void operator()(const OrderIntended& b) {
    const Order& o = b.order;
    if (s.orders.count(o.key) != 0) return;
    OrderRecord r;
    r.order = o;
    r.intended = e.utc;
    r.intended_mono = s.mono();
    s.orders[o.key] = r;
    s.open_orders.insert(o.key);
    ++s.totals.orders;
    answered(o.reason);
    FindingKind cause{};
    if (Incident* i = incident(o.reason.incident)) {
      i->pending = o.key;
      ++i->tries;
      enter(*i, stage_during(o.action.verb, i->stage));
      if (o.action.verb == Verb::probe_node) i->probed = true;
      if (i->stage == Stage::repairing) {
        i->repaired = true;
        ++i->repairs;
      }
      cause = i->cause;
      note(*i, o.reason.sentence);
      schedule(*i, kNever);
    }
    if (o.reason.upgrade != 0) turn_ordered(s, o);
    // A gang that broke by itself loses nothing by being requeued: only what Muster does to nodes and live jobs is harm.
    const bool health = harmful(o.action.verb) && (o.reason.incident.some() || o.reason.upgrade != 0);
    const Job* stopped = job(o.action.job);
    const bool stops = destroys_work(o.action.verb) && stopped != nullptr && stopped->phase == JobPhase::running;
    if (health || stops) s.harms.push_back({s.mono(), o.action.verb, health ? o.action.node : NodeId{}, o.action.job, cause});
    if (o.action.verb == Verb::drain_node) {
      recount_out(o.action.node);
      s.dirty_nodes.insert(o.action.node);  // it takes no new work from now on
    }
    if (o.action.verb == Verb::limit_power) limit_intended(s, o.action);
    if (o.action.verb == Verb::start_job) reserve(b);
    if (o.action.verb == Verb::restart_job) reserve_more(b);
    if (Job* j = job(o.action.for_job); j != nullptr)
      j->promised_until = s.mono() + (o.reason.upgrade != 0 ? kPromiseOfUpgrade : kPromise);
    if (Job* j = job(o.action.job); j != nullptr && o.action.verb == Verb::requeue_job && o.action.pause.ns > 0) {
      j->paused_until = s.mono() + o.action.pause;
      j->paused = j->paused + o.action.pause;
    }
    if (about_broken(o.action.verb)) s.broken_jobs.erase(o.action.job);
  }
  // Out of service by Muster's doing: held by it, or about to be.
  void recount_out(NodeId id) {
    const NodeState* n = node(id);
    if (n == nullptr) return;
    const bool about_to_be = std::any_of(s.open_orders.begin(), s.open_orders.end(), [&](const std::string& key) {
      const Order& o = s.orders.at(key).order;
      return o.action.verb == Verb::drain_node && o.action.node == id && o.reason.wish.empty();
    });
    if (n->hold == Hold::muster || about_to_be) {
      s.out_nodes.insert(id);
    } else {
      s.out_nodes.erase(id);
    }
  }
  void reserve(const OrderIntended& b) {
    Job* j = job(b.order.action.job);
    if (j == nullptr) return;
    if (leave_queue(*j)) j->waited = j->waited + (s.mono() - j->queued);
    j->phase = JobPhase::starting;
    s.placed.insert(j->id);
    j->attempt = b.order.action.attempt;
    j->nodes = b.order.action.nodes;
    j->slots = b.order.action.slots;
    j->placement = b.placement;
    occupy(*j, j->nodes, j->slots);
  }
  // A gang that runs, or ran until a moment ago, gets other nodes: those it has not yet are kept for it.
  void reserve_more(const OrderIntended& b) {
    Job* j = job(b.order.action.job);
    if (j == nullptr) return;
    const Action& a = b.order.action;
    for (std::size_t i = 0; i < a.nodes.size(); ++i) {
      const NodeState* ns = node(a.nodes[i]);
      const auto mine = [&](const Share& x) { return x.job == j->id; };
      if (ns == nullptr || std::any_of(ns->shares.begin(), ns->shares.end(), mine)) continue;
      occupy(*j, {a.nodes[i]}, a.slots.empty() ? std::vector<std::uint16_t>{} : std::vector<std::uint16_t>{a.slots[i]});
    }
    j->placement = b.placement;
  }
  void operator()(const OrderRefused& b) {
    ++s.totals.refusals;
    answered(b.reason);
    s.refusals.push_back({e.utc, b.action, b.limit, b.reason.incident});
    if (s.refusals.size() > kEndedKept) s.refusals.pop_front();
    if (b.reason.upgrade != 0) turn_refused(s, b);
    if (Incident* i = incident(b.reason.incident)) {
      note(*i, fmt::format("{} held back: {}", name_of(b.action.verb), b.limit));
      // What is under way comes first: its outcome wakes the incident.
      if (i->pending.empty() || s.open_orders.count(i->pending) == 0) schedule(*i, b.retry);
      if (i->node.v < s.nodes.size()) s.dirty_nodes.insert(i->node);  // held back: it is in service after all
      s.queue_dirty = true;
    }
  }
  void operator()(const OrderEnded& b) {
    const auto it = s.orders.find(b.key);
    if (it == s.orders.end() || s.open_orders.count(b.key) == 0) return;
    OrderRecord& r = it->second;
    r.status = b.status;
    r.detail = b.detail;
    r.score = b.score;
    if (b.status == Status::unknown || b.status == Status::pending) return;
    r.ended = e.utc;
    s.open_orders.erase(b.key);
    if (b.status == Status::not_received) never_arrived(s, r);
    if (Incident* i = incident(r.order.reason.incident); i != nullptr && i->pending == b.key) {
      if (b.status == Status::not_received && s.engine_away.some() && i->tries > 0) --i->tries;  // nothing was tried
      s.dirty_incidents.insert(i->id);
      if (r.order.action.verb == Verb::test_node && b.status == Status::failed) i->disproved = true;
    }
    apply(r);
    if (r.order.reason.upgrade != 0) turn_answered(s, r);
    if (b.status == Status::not_received && !r.order.reason.wish.empty()) s.wishes.push_back(wish_of(r.order));
    retire(s.orders, s.ended_orders, b.key);
  }
  void hold(NodeId id, Hold who, const std::string& why) {
    s.nodes[id.v].hold = who;
    s.nodes[id.v].hold_reason = why;
    recount_out(id);
    touch(id);
    if (who != Hold::none) return;
    // One more may be out now: the one that was held back longest is asked about again.
    for (auto& [_, i] : s.incidents) {
      if (i.stage != Stage::opened || i.due.ns == 0 || !i.pending.empty()) continue;
      schedule(i, s.mono());
      break;
    }
  }
  void apply(const OrderRecord& r) {
    const Action& a = r.order.action;
    NodeState* n = node(a.node);
    const bool done = r.status == Status::done;
    if (a.verb == Verb::limit_power) return limit_ended(s, a, done);
    const bool persons = !r.order.reason.wish.empty();
    // A person who took the node while an order of Muster's was under way keeps it.
    const bool applies = n != nullptr && done && (persons || n->hold != Hold::person);
    if (a.verb == Verb::drain_node && n != nullptr) {
      recount_out(a.node);
      touch(a.node);
      if (applies) hold(a.node, persons ? Hold::person : Hold::muster, r.order.reason.sentence);
    }
    if (a.verb == Verb::undrain_node && applies) hold(a.node, Hold::none, {});
    Job* j = job(a.job);
    if (a.verb == Verb::restart_job && (j == nullptr || j->attempt < a.attempt)) {
      // It did not happen, whatever the engine says: it would run there by now. What was kept for it is free again.
      release(a.job, a.nodes);
      if (j != nullptr && j->phase == JobPhase::running) occupy(*j, j->nodes, j->slots);
    }
    if (j != nullptr && done && a.verb == Verb::pace_job && j->attempt == a.attempt) {
      j->paced_every = a.every;
      j->paced_next = a.next;
    }
    if (j == nullptr || done) return;
    if (a.verb == Verb::start_job && j->phase == JobPhase::starting && j->attempt == a.attempt) {
      release(*j);
      enqueue(*j);
    }
    // A requeue, restart or giving-up that did not happen is decided again.
    if (about_broken(a.verb) && j->phase == JobPhase::broken) s.broken_jobs.insert(j->id);
  }

  // ---- people
  void operator()(const CommandGiven& b) {
    const auto same = [&](const CommandRecord& c) { return c.id == b.id; };
    if (std::any_of(s.commands.begin(), s.commands.end(), same)) return;
    s.commands.push_back({b.id, e.seq, command_digest(b)});
    if (s.commands.size() > kCommandsKept) s.commands.pop_front();
    if (b.verb == CommandVerb::pause) {
      s.paused = true;
      s.paused_by = b.actor;
    } else if (b.verb == CommandVerb::resume) {
      s.paused = false;
      s.paused_by.clear();
      refresh(s);  // what was left undone meanwhile
    } else if (b.verb == CommandVerb::approve || b.verb == CommandVerb::reject) {
      answer_approval(s, b);
    } else if (b.verb == CommandVerb::upgrade) {
      begin_upgrade(s, b, e);
    } else if (b.verb == CommandVerb::upgrade_stop || b.verb == CommandVerb::upgrade_back) {
      turn_upgrade(s, b, e.utc);
    } else {
      s.wishes.push_back(b);
    }
  }
  void operator()(const ApprovalAsked& b) {
    ask_approval(s, b, e.utc);
    if (Incident* i = incident(b.reason.incident)) {
      note(*i, fmt::format("{} waits for approval {}: {}", name_of(b.action.verb), b.id, b.why));
      if (i->pending.empty()) schedule(*i, b.until);
    }
  }

  void operator()(const UpgradePhased& b) { phase_upgrade(s, b, e.utc); }
  void operator()(const TurnMoved& b) { move_turn(s, b); }

  // ---- incidents
  void operator()(const IncidentOpened& b) {
    const auto f = s.findings.find(b.finding);
    if (f == s.findings.end() || s.incidents.count(b.id) != 0) return;
    Incident i;
    i.id = b.id;
    i.node = f->second.node;
    i.cause = f->second.kind;
    i.slot = f->second.slot;
    i.code = f->second.code;
    i.opened = e.utc;
    i.since = s.mono();
    i.findings = {b.finding};
    if (NodeState* n = node(i.node)) {
      i.job = n->first_job();
      n->incident = b.id;
      ++n->incidents;
      touch(i.node);
    }
    s.new_findings.erase(b.finding);
    s.openings.push_back({s.mono(), i.node, i.cause});
    s.next_incident = std::max(s.next_incident, b.id.v + 1);
    ++s.totals.incidents;
    s.dirty_incidents.insert(b.id);
    s.incidents[b.id] = std::move(i);
  }
  void operator()(const IncidentJoined& b) {
    Incident* i = incident(b.id);
    const auto f = s.findings.find(b.finding);
    s.new_findings.erase(b.finding);
    if (i == nullptr || f == s.findings.end()) return;
    i->findings.push_back(b.finding);
    reconsider(*i);
    note(*i, fmt::format("also {}", name_of(f->second.kind)));
    s.dirty_incidents.insert(b.id);
    if (node(i->node) != nullptr) s.dirty_nodes.insert(i->node);  // of another cause nobody may start there
  }
  void operator()(const IncidentMoved& b) {
    Incident* i = incident(b.id);
    if (i == nullptr) return;
    enter(*i, b.stage);
    if (i->rung != b.rung) i->repaired = false;
    i->rung = b.rung;
    i->pending.clear();
    schedule(*i, b.due);
    note(*i, b.note);
    if (NodeState* n = node(i->node); n != nullptr) s.dirty_nodes.insert(i->node);
  }
  void operator()(const IncidentClosed& b) {
    Incident* i = incident(b.id);
    if (i == nullptr) return;
    // One that was tested and put back is well, whatever it was part of.
    const bool tested = i->stage == Stage::returning;
    i->stage = Stage::closed;
    i->closed = e.utc;
    i->resolution = b.resolution;
    i->pending.clear();
    schedule(*i, kNever);
    note(*i, b.resolution);
    s.dirty_incidents.erase(b.id);
    forget_approvals(s, b.id);
    if (NodeState* n = node(i->node); n != nullptr && n->incident == b.id) {
      n->incident = {};
      remember(*n, *i, s);
      touch(i->node);
    }
    for (FindingId f : i->findings) {
      const auto it = s.findings.find(f);
      if (it == s.findings.end() || it->second.cleared.ns != 0) continue;
      if (!tested && cause_of(s, it->second) != nullptr) continue;  // goes on as part of that
      clear_finding(s, f, e.utc);
      retire(s.findings, s.cleared_findings, f);
    }
    retire(s.incidents, s.closed_incidents, b.id);
  }
  // Only their place in the agent's stream is kept, by fold(): what they mean is for the detectors to say.
  void operator()(const KernelHeard&) {}
  void operator()(const AgentSaid&) {}
  void operator()(const FabricSaid&) {}
  void operator()(const AcceptanceSaid&) {}
  void operator()(const JobDescribed&) {}  // for the record: report/job_environment compares two runs by it
  void operator()(const GpuIdentified& b) {
    if (NodeState* n = node(b.node)) n->known.put(b.gpu);
  }
  void operator()(const NodeDescribed& b) {
    if (NodeState* n = node(b.node)) n->known.put(b.facts);
  }
  void operator()(const CauseFrozen& b) {
    s.frozen[b.cause] = b.until;
    if (b.until <= s.mono()) s.frozen.erase(b.cause);  // it is over
  }
  void operator()(const PriceAnnounced& b) {
    s.prices = b;
    s.queue_dirty = true;
  }
};

}  // namespace

void fold(State& s, const Event& e) {
  s.seq = e.seq;
  if (e.source.seq != 0) s.streams[e.source.stream] = {e.source.boot, e.source.seq};
  std::visit(Folder{s, e}, e.body);
}

}  // namespace muster
