#include "adapters/slurm/picture.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"

namespace muster::slurm {
namespace {

// The gate puts a start an hour off, by the clock of slurmctld's machine.
constexpr Duration kGateHolds = minutes(61);
// Without a mark that a comment of Slurm's does not take.
constexpr std::string_view kOvertook = ", which Slurm places and which comes later in its order, started before it";
constexpr std::uint32_t kStartsTried = 3;  // of a job that Slurm does not let start, before it is Slurm's to place

bool pends(const JobRow& r) {
  return r.state == "PENDING" || r.state == "REQUEUED" || r.state == "REQUEUE_HOLD" || r.state == "REQUEUE_FED" ||
         r.state == "RESV_DEL_HOLD" || r.state == "SPECIAL_EXIT";
}
// Its processes, or what is left of them, are on its nodes.
bool runs(const JobRow& r) {
  return r.state == "RUNNING" || r.state == "CONFIGURING" || r.state == "COMPLETING" || r.state == "SUSPENDED" ||
         r.state == "STOPPED" || r.state == "SIGNALING" || r.state == "STAGE_OUT" || r.state == "RESIZING";
}

JobEnd end_of(const std::string& state) {
  if (state == "COMPLETED") return JobEnd::completed;
  if (state == "CANCELLED" || state == "REVOKED") return JobEnd::cancelled;
  if (state == "TIMEOUT" || state == "DEADLINE") return JobEnd::timed_out;
  if (state == "NODE_FAIL" || state == "BOOT_FAIL") return JobEnd::node_failed;
  if (state == "PREEMPTED") return JobEnd::requeued;
  return JobEnd::app_failed;  // FAILED, OUT_OF_MEMORY
}

// GPUs on each of its nodes; 0: none.
std::uint32_t gpus_each(const JobRow& r) {
  const std::uint32_t nodes = std::max<std::uint32_t>(r.nodes, 1);
  return r.gpus_per_node > 0 ? r.gpus_per_node : (r.gpus + nodes - 1) / nodes;
}

// The parts of a heterogeneous job as one: it is followed while it runs, so that nothing is done under it, and never moved.
std::map<JobId, JobRow> whole_jobs(const std::vector<JobRow>& rows) {
  std::map<JobId, JobRow> wholes;
  for (const JobRow& r : rows) {
    if (!r.het) continue;
    const auto [at, first] = wholes.try_emplace(r.id, r);
    JobRow& w = at->second;
    w.requeue = false;
    if (first) continue;
    const std::uint32_t each = std::max(gpus_each(w), gpus_each(r));
    w.nodes += r.nodes;
    w.gpus_per_node = each;
    if (!r.node_list.empty()) w.node_list += (w.node_list.empty() ? "" : ",") + r.node_list;
    if (runs(r)) w.state = r.state;
  }
  std::erase_if(wholes, [](const auto& w) { return pends(w.second); });
  return wholes;
}

// What is told as it happens needs no time of its own, nor two clocks that agree.
Time if_long_ago(Time at, Time utc) { return utc - at > seconds(5) ? at : Time{}; }

// Nobody else gets what it leaves free of its nodes.
// It has its nodes alone: by the words of all releases.
bool exclusive(const JobRow& r) {
  return r.sharing == "NO" || r.sharing == "EXCLUSIVE" || r.sharing == "NODE" || r.sharing == "TOPO";
}

bool held(const JobRow& r) { return r.priority == 0 || r.reason.rfind("JobHeld", 0) == 0; }

}  // namespace

Picture::Picture(const Site& site, std::map<std::string, Mode> modes, Mode otherwise, const Reasons& reasons)
    : site_(site), reasons_(reasons), modes_(std::move(modes)), otherwise_(otherwise) {
  for (std::uint32_t n = 0; n < site.nodes.size(); ++n) by_name_[site.nodes[n].name] = NodeId{n};
  conditions_.assign(site.nodes.size(), NodeCondition::up);
  details_.resize(site.nodes.size());
  holds_.assign(site.nodes.size(), Hold::none);
  nodes_missed_.assign(site.nodes.size(), 0);
}

void Picture::know(const State& s) {
  for (const auto& [id, j] : s.jobs) {
    if (ended(j.phase)) continue;
    Known k;
    k.spec = j.spec;
    k.runs = j.phase == JobPhase::running;
    k.attempt = j.attempt;
    k.restarts = j.attempt > 0 ? j.attempt - 1 : 0;
    k.nodes = j.nodes;
    k.slots = j.slots;
    jobs_[id] = std::move(k);
  }
  for (std::uint32_t n = 0; n < s.nodes.size() && n < holds_.size(); ++n) {
    conditions_[n] = s.nodes[n].condition;
    holds_[n] = s.nodes[n].hold;
  }
  for (const std::string& key : s.open_orders) take_in_hand(s.orders.at(key).order.action);
}

Mode Picture::mode_of(const std::string& partition) const {
  // A job may name several partitions: it is Muster's only where all of them are.
  std::optional<Mode> all;
  for (const std::string_view p : split(partition, ',')) {
    const auto it = modes_.find(std::string(p));
    const Mode m = it == modes_.end() ? otherwise_ : it->second;
    if (all && *all != m) return Mode::advise;
    all = m;
  }
  return all.value_or(otherwise_);
}

std::vector<NodeId> Picture::nodes_of(const std::string& list) const {
  std::vector<NodeId> out;
  const auto names = expand_names(list);
  if (!names) return out;
  for (const std::string& n : *names) {
    if (const auto it = by_name_.find(n); it != by_name_.end()) out.push_back(it->second);
  }
  std::sort(out.begin(), out.end());
  return out;
}

const Pool* Picture::pool_of(std::string_view partition) const {
  const auto at = std::find_if(site_.pools.begin(), site_.pools.end(), [&](const Pool& p) { return p.name == partition; });
  return at == site_.pools.end() ? nullptr : &*at;
}

// Why Muster may not start it; empty: it may.
std::string Picture::bar_of(const JobRow& r, Time utc) const {
  const Mode mode = mode_of(r.partition);
  if (mode == Mode::off) return fmt::format("Slurm places it: Muster is off in partition {}", r.partition);
  if (mode == Mode::advise) return fmt::format("Slurm places it: in partition {} Muster only advises", r.partition);
  if (held(r)) return fmt::format("held in Slurm ({})", r.reason.empty() ? "its priority is 0" : r.reason);
  if (r.admin_comment.rfind(kLeft, 0) == 0) return "Slurm places it: " + r.admin_comment.substr(kLeft.size());
  const auto begin = begins_.find(r.id);
  if (begin != begins_.end() && begin->second.owners) return "Slurm places it: somebody set its start time";
  const bool let_go = r.admin_comment.rfind(kGate, 0) == 0;
  if (!gated(r.id))
    return let_go ? "Slurm places it: it was let go at Muster's gate" : "Slurm places it: it did not come through Muster's gate";
  if (const std::string why = slurms(r, utc); !why.empty()) return "Slurm places it: " + why;
  if (closed_.count(r.partition) != 0) return fmt::format("partition {} is closed in Slurm", r.partition);
  if (const auto b = bars_.find(r.id); b != bars_.end() && b->second.until > utc) return b->second.why;
  return {};
}

// What Muster knows too little of to place it; empty: nothing. Where Muster has named nodes, they are no wish of its owner's.
std::string Picture::slurms(const JobRow& r, Time utc) const {
  const std::uint32_t each = gpus_each(r);
  if (each == 0) return "it asks for no GPUs";
  if (r.nodes > 1 && each < site_.gpus_per_node) return "it asks for parts of several nodes";
  if (!r.features.empty()) return "it asks for features of nodes";
  if (!r.required.empty() && r.admin_comment.rfind(kGate, 0) == 0) return "it names its nodes";
  if (r.switches > 0) return "it asks for --switches";
  if (!r.reservation.empty()) return "it asks for a reservation";
  if (const auto most = limits_.find(r.partition); most != limits_.end()) {
    const auto& [nodes, time_s] = most->second;
    if (nodes > 0 && r.nodes > nodes) return fmt::format("partition {} gives a job {} nodes at most", r.partition, nodes);
    if (time_s > 0 && r.time_limit_s > time_s)
      return fmt::format("its time limit is longer than partition {} allows", r.partition);
  }
  const Pool* pool = pool_of(r.partition);
  const auto coming = coming_.find(pool == nullptr ? std::string() : pool->name);
  if (coming == coming_.end()) return {};
  const bool over_before = r.time_limit_s > 0 && utc + from_seconds(r.time_limit_s) <= coming->second.from;
  return over_before ? std::string() : fmt::format("reservation {} begins before its time limit is over", coming->second.name);
}

// `nodes` are sorted, and so is a pool.
bool Picture::shares_nodes(const std::string& partition, const std::vector<NodeId>& nodes) const {
  const Pool* pool = pool_of(partition);
  if (pool == nullptr) return !nodes.empty();  // it has all of them
  return std::any_of(nodes.begin(), nodes.end(),
                     [&](NodeId n) { return std::binary_search(pool->nodes.begin(), pool->nodes.end(), n); });
}

// A job that waits behind the gate is none that Slurm keeps nodes for. Where one that Slurm places itself takes them, though it
// comes later by Slurm's own order, only Slurm can set that right.
void Picture::overtake(const JobRow& r, const std::vector<NodeId>& nodes, Time utc) {
  constexpr Duration kWaited = seconds(2);  // before that, Slurm may have begun with it first
  std::map<std::string, bool> touched;      // by partition: thousands wait, in few of them
  for (auto& [id, g] : gate_) {
    const auto k = jobs_.find(id);
    if (id == r.id || k == jobs_.end() || k->second.runs || k->second.in_hand || utc - g.since < kWaited) continue;
    const auto theirs = static_cast<std::int64_t>(std::min<std::uint64_t>(r.priority, INT32_MAX));
    const bool later = theirs < k->second.spec.priority || (theirs == k->second.spec.priority && r.id.number > id.number);
    if (!later) continue;
    const auto [here, first] = touched.try_emplace(g.partition, false);
    if (first) here->second = shares_nodes(g.partition, nodes);
    if (!here->second) continue;
    g.overtaken_by = r.id;
    g.overtaken = utc;
  }
}

JobSpec Picture::spec_of(const JobRow& r, Time utc) const {
  JobSpec s;
  s.name = r.name;
  s.user = r.user;
  s.account = r.account.empty() ? r.user : r.account;
  if (const Pool* p = pool_of(r.partition)) s.pool = p->name;
  s.queue = "slurm";  // Slurm's order holds, not Muster's among queues
  s.nodes = std::max<std::uint32_t>(r.nodes, 1);
  s.gpus_per_node = gpus_each(r) >= site_.gpus_per_node ? 0 : gpus_each(r);
  double priority = static_cast<double>(std::min<std::uint64_t>(r.priority, INT32_MAX));
  if (ageing_.longest_s > 0 && gated(r.id)) {
    priority += ageing_.weight * std::clamp((reference_ - r.submitted).seconds() / ageing_.longest_s, -1e6, 1.0);
  }
  s.priority = static_cast<std::int32_t>(std::clamp(priority, -2e9, 2e9));
  s.time_limit_s = r.time_limit_s;
  s.by_limit = true;
  s.steps = 0;                // nobody has said, nor
  s.checkpoint_every_s = -1;  // this
  s.no_requeue = !r.requeue;
  if (pends(r)) s.barred = bar_of(r, utc);
  return s;
}

void Picture::start(Known& k, const JobRow& r, Time utc, std::vector<Body>& out) {
  k.attempt = std::max({k.runs ? k.attempt + (r.restarts - k.restarts) : r.restarts + 1, k.ordered, k.attempt});
  k.restarts = r.restarts;
  k.runs = true;
  k.nodes = nodes_of(r.node_list);
  JobStarted b{r.id, k.attempt, k.nodes, {}, if_long_ago(r.started, utc)};
  for (const NodeId n : k.nodes) {
    // Without GPUs it is on the node all the same: nothing is reset or rebooted under it, and others may be beside it.
    if (gpus_each(r) == 0 && !exclusive(r)) b.slots.push_back(0);
    if (k.spec.gpus_per_node > 0) b.slots.push_back(slots_on(r.id, k, n));
  }
  k.slots = b.slots;
  const bool takes = gpus_each(r) > 0 || exclusive(r);
  const bool slurms = k.ordered == 0 && r.admin_comment.rfind(kPlace, 0) != 0;
  if (takes && slurms && if_long_ago(r.started, utc).ns == 0) overtake(r, k.nodes, utc);
  make_way(r.id, b, out);
  out.push_back(std::move(b));
}

// Which GPUs of the node it has. Where Slurm does not tell, the lowest that nobody else has.
std::uint16_t Picture::slots_on(JobId id, const Known& k, NodeId n) const {
  if (const auto known = slots_.find(id); known != slots_.end()) {
    if (const auto at = known->second.find(site_.nodes[n.v].name); at != known->second.end()) return at->second;
  }
  std::uint32_t taken = 0;
  for (const auto& [other, o] : jobs_) {
    const auto at = std::lower_bound(o.nodes.begin(), o.nodes.end(), n);
    if (other == id || !o.runs || at == o.nodes.end() || *at != n) continue;
    taken |= o.slots.empty() ? all_slots(site_) : o.slots[static_cast<std::size_t>(at - o.nodes.begin())];
  }
  std::uint32_t mask = 0;
  for (std::uint32_t slot = 0, left = k.spec.gpus_per_node; slot < site_.gpus_per_node && left > 0; ++slot) {
    if ((taken >> slot & 1) != 0) continue;
    mask |= 1U << slot;
    --left;
  }
  return static_cast<std::uint16_t>(mask != 0 ? mask : 1);
}

bool Picture::knows_slots(const JobRow& r, std::uint32_t gpus_per_node) {
  if (gpus_per_node == 0 || slots_.count(r.id) != 0) return true;
  without_slots_.insert(r.id);
  return false;
}

// Slurm gives no GPU twice: whoever was last known there has left it, though Slurm has not said so yet.
void Picture::make_way(JobId id, const JobStarted& b, std::vector<Body>& out) {
  for (auto it = jobs_.begin(); it != jobs_.end();) {
    Known& o = it->second;
    bool meets = false;
    for (std::size_t i = 0; i < b.nodes.size() && o.runs && it->first != id && !meets; ++i) {
      const auto at = std::lower_bound(o.nodes.begin(), o.nodes.end(), b.nodes[i]);
      if (at == o.nodes.end() || *at != b.nodes[i]) continue;
      const std::uint16_t mine = b.slots.empty() ? all_slots(site_) : b.slots[i];
      const std::uint16_t theirs = o.slots.empty() ? all_slots(site_) : o.slots[static_cast<std::size_t>(at - o.nodes.begin())];
      meets = (mine & theirs) != 0;
    }
    if (!meets) {
      ++it;
      continue;
    }
    out.push_back(
        JobEnded{it->first, o.attempt, JobEnd::completed, {}, fmt::format("Slurm gave its nodes to job {}", render(id))});
    over_.insert(it->first);
    it = jobs_.erase(it);
  }
}

void Picture::end(JobId id, Known& k, const JobRow& r, Time utc, std::vector<Body>& out) {
  const JobEnd how = end_of(r.state);
  // Slurm is done with it: nobody is to decide whether it runs again.
  if (k.runs)
    out.push_back(JobEnded{id,
                           k.attempt,
                           how,
                           {},
                           fmt::format("Slurm: {}{}{}", r.state, r.reason.empty() ? "" : ", ", r.reason),
                           if_long_ago(r.ended, utc)});
  if (!k.runs || how == JobEnd::app_failed || how == JobEnd::node_failed || how == JobEnd::requeued)
    out.push_back(JobGone{id, how});
}

void Picture::amend(JobId id, Known& k, const JobRow& r, Time utc, std::vector<Body>& out) {
  JobSpec now = spec_of(r, utc);
  if (k.runs) now.barred = k.spec.barred;
  const auto same = [&] {
    return now.name == k.spec.name && now.nodes == k.spec.nodes && now.gpus_per_node == k.spec.gpus_per_node &&
           now.priority == k.spec.priority && now.time_limit_s == k.spec.time_limit_s && now.barred == k.spec.barred &&
           now.no_requeue == k.spec.no_requeue && now.account == k.spec.account && now.pool == k.spec.pool;
  };
  if (same()) return;
  k.spec = now;
  out.push_back(JobAmended{id, std::move(now)});
}

void Picture::appear(const JobRow& r, Time utc, std::vector<Body>& out) {
  // Long over, told already, or it never ran.
  if (!pends(r) && !runs(r) && (r.submitted < first_look_ || over_.count(r.id) != 0 || r.started.ns == 0)) return;
  Known k;
  k.spec = spec_of(r, utc);
  if (runs(r) && !knows_slots(r, k.spec.gpus_per_node)) return;
  out.push_back(JobSubmitted{r.id, k.spec});
  if (pends(r)) {
    jobs_[r.id] = std::move(k);
    return;
  }
  start(k, r, utc, out);
  if (runs(r)) {
    jobs_[r.id] = std::move(k);
  } else {
    end(r.id, k, r, utc, out);
    over_.insert(r.id);
  }
}

void Picture::see(const JobRow& r, Time utc, std::vector<Body>& out) {
  const auto it = jobs_.find(r.id);
  if (it == jobs_.end()) return appear(r, utc, out);
  Known& k = it->second;
  k.missed = 0;
  if (pends(r)) {
    if (k.in_hand) return;  // on its way: a restart goes through this state
    if (k.runs) {
      const bool failed = r.reason.find("Node") != std::string::npos || r.reason == "BeginTime" || r.reason.empty();
      out.push_back(
          JobEnded{r.id, k.attempt, failed ? JobEnd::node_failed : JobEnd::requeued, {}, "Slurm put it back into its queue"});
      out.push_back(JobRequeued{r.id});
      k.runs = false;
      k.nodes.clear();
      k.slots.clear();
    }
    return amend(r.id, k, r, utc, out);
  }
  if (runs(r)) {
    // Slurm counts a restart when it puts the job back, while processes of the attempt before are still on some of its nodes.
    if (r.state == "COMPLETING" && k.attempt > 0 && r.restarts > k.restarts) return;
    const bool again = k.runs && r.restarts > k.restarts;
    if ((again || !k.runs) && !knows_slots(r, k.spec.gpus_per_node)) return;
    if (again) out.push_back(JobEnded{r.id, k.attempt, JobEnd::requeued, {}, "Slurm started it again"});
    if (again && !k.in_hand) out.push_back(JobRequeued{r.id});
    if (again || !k.runs) start(k, r, utc, out);
    return;
  }
  if (!k.runs && r.started.ns > 0 && !r.node_list.empty()) start(k, r, utc, out);  // it ran between two looks
  end(r.id, k, r, utc, out);
  over_.insert(r.id);
  jobs_.erase(it);
  forget(r.id);
}

void Picture::forget(JobId id) {
  gate_.erase(id);
  begins_.erase(id);
  bars_.erase(id);
  slots_.erase(id);
  without_slots_.erase(id);
}

void Picture::miss(std::vector<Body>& out, const std::set<JobId>& seen) {
  for (auto it = jobs_.begin(); it != jobs_.end();) {
    Known& k = it->second;
    if (seen.count(it->first) != 0 || ++k.missed < kLooks || k.in_hand) {
      ++it;
      continue;
    }
    const JobId id = it->first;
    if (k.runs) {
      out.push_back(JobEnded{id, k.attempt, JobEnd::completed, {}, "Slurm no longer knows it: how it ended is not known"});
    } else {
      out.push_back(JobGone{id, JobEnd::cancelled});
    }
    forget(id);
    it = jobs_.erase(it);
  }
}

// A start that is further away than the gate's, or that changed while the gate's word did not, is somebody's wish. What squeue
// shows as StartTime does not tell: where many wait for the same hour, that is when Slurm expects to have nodes for it.
bool Picture::owners_start(const JobRow& r, Time utc) {
  Begin& b = begins_[r.id];
  if (b.comment != r.admin_comment) b = {r.admin_comment, r.eligible, false};
  if (b.at != r.eligible || r.eligible > utc + kGateHolds) b.owners = true;
  return b.owners;
}

std::set<JobId> Picture::see_rows(const std::vector<JobRow>& rows, Time utc, std::vector<Body>& out) {
  if (reference_.ns == 0) {
    reference_ = utc;
    first_look_ = utc;
  }
  std::set<JobId> seen;
  // Who leaves before who comes: a node may have gone from one to the other since the last look. Then as they were submitted,
  // which is not how squeue lists them: of equals, whoever came first is first.
  std::vector<const JobRow*> in_order;
  const auto turn = [&](const JobRow& r) { return runs(r) ? 2 : jobs_.count(r.id) != 0 ? 0 : 1; };
  const std::map<JobId, JobRow> wholes = whole_jobs(rows);
  for (const auto& [id, r] : wholes) in_order.push_back(&r);
  for (const JobRow& r : rows) {
    if (r.pending.empty() && !r.het) in_order.push_back(&r);  // members of arrays are followed from their start
  }
  std::stable_sort(in_order.begin(), in_order.end(),
                   [&](const auto* x, const auto* y) { return std::pair(turn(*x), x->id) < std::pair(turn(*y), y->id); });
  for (const JobRow* at : in_order) {
    const JobRow& r = *at;
    seen.insert(r.id);
    if (jobs_since_.count(r.id) != 0) continue;
    const bool gate = pends(r) && r.reason == "BeginTime" && r.admin_comment.rfind(kGate, 0) == 0 && !owners_start(r, utc);
    if (gate) {
      Gated& g = gate_.try_emplace(r.id, Gated{{}, {}, utc, {}}).first->second;
      g.partition = r.partition;
      g.slurms = slurms(r, utc);
    }
    if (pends(r) && !gate) gate_.erase(r.id);  // let go of by somebody, the release timer perhaps
    if (r.admin_comment.rfind(kGate, 0) != 0) begins_.erase(r.id);
    if (pends(r) && r.admin_comment.rfind(kLeft, 0) == 0 && r.admin_comment.ends_with(kOvertook)) ahead_.insert(r.partition);
    see(r, utc, out);
    const auto known = jobs_.find(r.id);
    const bool in_hand = known != jobs_.end() && known->second.in_hand;
    strays_.erase(r.id);
    if (pends(r) && !in_hand && r.admin_comment.rfind(kPlace, 0) == 0 && mode_of(r.partition) == Mode::place)
      strays_.insert(r.id);
  }
  return seen;
}

std::vector<Body> Picture::see_some(const std::vector<JobRow>& rows, Time utc) {
  std::vector<Body> out;
  see_rows(rows, utc, out);
  return out;
}

std::vector<Body> Picture::see_jobs(const std::vector<JobRow>& rows, Time utc) {
  std::vector<Body> out;
  strays_.clear();
  ahead_.clear();
  looked_ = utc;
  const std::set<JobId> seen = see_rows(rows, utc, out);
  miss(out, seen);
  std::erase_if(over_, [&](JobId id) { return seen.count(id) == 0; });
  return out;
}

// False: it is none of those that ended.
bool Picture::tell_past(const JobRow& r, Time utc, std::vector<Body>& out) {
  if (r.het || !r.pending.empty() || pends(r) || runs(r) || over_.count(r.id) != 0) return false;
  JobRow told = r;
  told.reason = fmt::format("{} to {}, by sacct", r.started.ns > 0 ? render_utc(r.started) : "never begun", render_utc(r.ended));
  if (jobs_.count(r.id) != 0) {
    see(told, utc, out);
    return true;
  }
  const bool ran = r.started.ns > 0 && !nodes_of(r.node_list).empty();
  if (!ran) return false;  // nobody knew of it, and it used nothing
  Known k;
  k.spec = spec_of(told, utc);
  out.push_back(JobSubmitted{r.id, k.spec});
  const std::vector<NodeId> nodes = nodes_of(r.node_list);
  // Whom the journal knows there has moved meanwhile, which the look at jobs will tell: nobody is to be taken for ended by this.
  const bool taken = std::any_of(jobs_.begin(), jobs_.end(), [&](const auto& other) {
    const std::vector<NodeId>& theirs = other.second.nodes;
    return other.second.runs && std::find_first_of(theirs.begin(), theirs.end(), nodes.begin(), nodes.end()) != theirs.end();
  });
  if (!taken) start(k, told, utc, out);
  end(r.id, k, told, utc, out);
  over_.insert(r.id);
  return true;
}

std::vector<Body> Picture::see_history(const std::vector<JobRow>& rows, Time since, Time utc) {
  std::vector<Body> out;
  // The last run of each; who is known first, so that no other is taken to have its nodes.
  std::map<JobId, const JobRow*> last;
  for (const JobRow& r : rows) last[r.id] = &r;
  std::vector<const JobRow*> in_order;
  for (const auto& [id, r] : last) {
    if (r->ended > since && r->ended <= utc) in_order.push_back(r);
  }
  std::stable_sort(in_order.begin(), in_order.end(), [&](const JobRow* a, const JobRow* b) {
    const bool known_a = jobs_.count(a->id) != 0, known_b = jobs_.count(b->id) != 0;
    return known_a != known_b ? known_a : a->ended < b->ended;
  });
  for (const JobRow* r : in_order) tell_past(*r, utc, out);
  return out;
}

void Picture::take_in_hand(const Action& a) {
  if (a.job.some() && (a.verb == Verb::start_job || a.verb == Verb::restart_job)) {
    if (const auto it = jobs_.find(a.job); it != jobs_.end()) {
      it->second.in_hand = true;
      it->second.ordered = a.attempt;
    }
  }
  if (a.node.some() && (a.verb == Verb::drain_node || a.verb == Verb::undrain_node || a.verb == Verb::reboot_node))
    nodes_in_hand_.insert(a.node);
}

void Picture::look_begins() {
  nodes_since_.clear();
  jobs_since_.clear();
}

void Picture::let_go(const Action& a, bool done) {
  if (a.job.some()) jobs_since_.insert(a.job);
  if (a.node.some()) nodes_since_.insert(a.node);
  if (const auto it = jobs_.find(a.job); it != jobs_.end()) {
    it->second.in_hand = false;
    it->second.ordered = 0;
  }
  if (!a.node.some()) return;
  nodes_in_hand_.erase(a.node);
  if (done && a.verb == Verb::drain_node && holds_[a.node.v] != Hold::person) holds_[a.node.v] = Hold::muster;
  if (done && a.verb == Verb::undrain_node) holds_[a.node.v] = Hold::none;
}

std::vector<Body> Picture::bar(JobId id, std::string why, Time until, std::uint32_t counts) {
  std::vector<Body> out;
  // At once, not at the next look: by then it would have been tried again.
  if (const auto it = jobs_.find(id); it != jobs_.end()) {
    it->second.spec.barred = why;
    out.push_back(JobAmended{id, it->second.spec});
  }
  bars_[id] = {std::move(why), until, bars_[id].times + counts};
  return out;
}

// In each partition the first in the order that was overtaken just now, unless Slurm already keeps nodes for such a one: those
// behind it Muster can go on placing.
std::map<std::string, JobId> Picture::overtaken() const {
  constexpr Duration kLately = seconds(10);
  std::map<std::string, JobId> first;
  for (const auto& [id, g] : gate_) {
    const auto k = jobs_.find(id);
    if (!g.overtaken_by.some() || looked_ - g.overtaken > kLately || k == jobs_.end() || ahead_.count(g.partition) != 0) continue;
    const auto [at, fresh] = first.try_emplace(g.partition, id);
    if (!fresh && k->second.spec.priority > jobs_.at(at->second).spec.priority) at->second = id;
  }
  return first;
}

std::map<JobId, std::string> Picture::not_ours() const {
  std::map<JobId, std::string> out;
  const std::map<std::string, JobId> lost = overtaken();
  for (const auto& [id, gated] : gate_) {
    const std::string& partition = gated.partition;
    const auto it = jobs_.find(id);
    if (it == jobs_.end() || it->second.in_hand || it->second.runs) continue;
    const Known& k = it->second;
    const auto bar = bars_.find(id);
    if (const auto p = unfit_.find(partition); p != unfit_.end()) {
      out[id] = p->second;
    } else if (!gated.slurms.empty()) {
      out[id] = gated.slurms;
    } else if (const auto first = lost.find(partition); first != lost.end() && first->second == id) {
      out[id] = fmt::format("job {}{}", render(gated.overtaken_by), kOvertook);
    } else if (mode_of(partition) != Mode::place) {
      out[id] = fmt::format("Muster does not place in partition {}", partition);
    } else if (const std::size_t most = pool_of(partition) != nullptr ? pool_of(partition)->nodes.size() : site_.nodes.size();
               k.spec.nodes > most) {
      out[id] = fmt::format("it asks for {} nodes, and Muster knows {} of partition {}", k.spec.nodes, most, partition);
    } else if (bar != bars_.end() && bar->second.times >= kStartsTried) {
      out[id] = fmt::format("{} times {}", bar->second.times, bar->second.why);
    }
  }
  return out;
}

std::vector<JobId> Picture::owners_starts() const {
  std::vector<JobId> out;
  for (const auto& [id, b] : begins_) {
    const auto k = jobs_.find(id);
    if (b.owners && k != jobs_.end() && !k->second.runs) out.push_back(id);
  }
  return out;
}

void Picture::told_slots(JobId id, const std::map<std::string, std::uint16_t>& slots) {
  without_slots_.erase(id);
  slots_[id] = slots;
}

std::uint32_t Picture::running(JobId id) const {
  const auto it = jobs_.find(id);
  return it != jobs_.end() && it->second.runs ? it->second.attempt : 0;
}

std::vector<JobId> Picture::gated_waiting() const {
  std::vector<JobId> out;
  for (const auto& [id, k] : jobs_) {
    if (!k.runs && gated(id)) out.push_back(id);
  }
  return out;
}

}  // namespace muster::slurm
