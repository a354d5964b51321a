#include "account/job_books.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "account/finding_cost.h"

namespace muster::account {
namespace {

std::size_t index(Waste w) { return static_cast<std::size_t>(w); }

void operator+=(Classes& a, const Classes& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
}
Classes operator-(Classes a, const Classes& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] -= b[i];
  return a;
}

Cause of_finding(FindingKind k) { return {Why::finding, static_cast<std::uint8_t>(k)}; }

Cause of_incident(const Incident& i) { return {Why::finding, static_cast<std::uint8_t>(i.cause), i.id}; }

// By the name that its incident has in the end.
Cause by_final_name(const JobSums& sums, Cause c) {
  const auto it = c.incident.some() ? sums.became.find(c.incident) : sums.became.end();
  if (it != sums.became.end()) c.which = static_cast<std::uint8_t>(it->second);
  c.incident = {};
  return c;
}

// What is known to be wrong with a node; none: nothing.
Cause of_trouble(const State& s, NodeId n) {
  if (const Incident* i = find_incident(s, s.nodes[n.v].incident)) return of_incident(*i);
  return s.explained.count(n) != 0 ? of_finding(FindingKind::common_cause) : Cause{};
}

Cause of_node(const State& s, NodeId id, Waste waste) {
  const NodeState& n = s.nodes[id.v];
  if (waste == Waste::idle) return {Why::idle};
  if (in_turn(s, id)) return {Why::upgrade};
  if (n.condition == NodeCondition::kept) return {Why::kept};
  if (n.condition == NodeCondition::up && n.hold == Hold::person) return {Why::person};
  if (const Cause trouble = of_trouble(s, id); trouble.why != Why::unknown) return trouble;
  if (n.condition == NodeCondition::down) return {Why::node_down};
  if (n.condition == NodeCondition::booting) return {Why::booting};
  if (n.hold == Hold::engine) return {Why::engine};
  return n.hold == Hold::muster ? Cause{Why::muster} : Cause{};
}

// What was found on the node shortly before an attempt ended there, and is no incident: a link that flapped.
Cause of_finding_on(const State& s, NodeId n, Time stopped) {
  for (auto it = s.findings.rbegin(); it != s.findings.rend(); ++it) {
    const Finding& f = it->second;
    if (f.node != n || !ends_gangs(f.kind) || stopped - f.opened > kFoundLate) continue;
    if (f.cleared.ns == 0) return of_finding(f.kind);
  }
  return {};
}

// Of slow storage and a sick fabric all of a gang's steps tell, whichever node is named.
bool may_slow(FindingKind k) {
  return slows_gangs(k) || k == FindingKind::storage_stall || k == FindingKind::mount_stalled || k == FindingKind::fabric_fault;
}

// What slows a gang, by what is found on its nodes, or was shortly before it told of its progress; none: nothing.
Cause of_slowness(const State& s, const Event& e, JobId id) {
  const Job* j = find_job(s, id);
  if (j == nullptr) return {};
  for (const NodeId n : j->nodes) {
    const Incident* i = n.v < s.nodes.size() ? find_incident(s, s.nodes[n.v].incident) : nullptr;
    if (i != nullptr && may_slow(i->cause)) return of_incident(*i);
  }
  for (auto it = s.findings.rbegin(); it != s.findings.rend(); ++it) {
    const Finding& f = it->second;
    const bool over = f.cleared.ns != 0 && e.utc - f.cleared > kFoundLate;
    const bool there = !f.node.some() || std::find(j->nodes.begin(), j->nodes.end(), f.node) != j->nodes.end();
    if (!over && there && may_slow(f.kind) && (f.node.some() || f.kind == FindingKind::storage_stall)) return of_finding(f.kind);
  }
  return {};
}

// Why an attempt's last steps were lost. What its own program, its owner or its time limit ended is put down to that, whatever
// may be wrong with its nodes.
Cause of_loss(const State& s, const Event& e, JobId id) {
  JobEnd end = JobEnd::requeued;
  if (const auto* b = std::get_if<JobEnded>(&e.body)) end = b->end;
  if (const auto* b = std::get_if<JobGone>(&e.body)) end = b->end;
  const Job* j = find_job(s, id);
  if (j != nullptr && (end == JobEnd::node_failed || end == JobEnd::requeued)) {
    for (const NodeId n : j->nodes) {
      const Cause trouble = n.v < s.nodes.size() ? of_trouble(s, n) : Cause{};
      if (trouble.why != Why::unknown) return trouble;
    }
  }
  if (j != nullptr && end == JobEnd::node_failed) {
    for (const NodeId n : j->nodes) {
      const Cause found = of_finding_on(s, n, e.utc);
      if (found.why != Why::unknown) return found;
    }
  }
  return {Why::attempt, static_cast<std::uint8_t>(end)};
}

Cause of_job(Waste w) {
  switch (w) {
    case Waste::starting: return {Why::starting};
    case Waste::checkpoint: return {Why::checkpoint};
    case Waste::slow: return {Why::slow};
    default: return {Why::work};
  }
}

std::shared_ptr<const JobWho> who_is(const State& s, JobId id) {
  const Job* j = find_job(s, id);
  if (j == nullptr) return std::make_shared<const JobWho>();
  return std::make_shared<const JobWho>(JobWho{j->spec.name, j->spec.user, j->spec.account, queue_of(j->spec)});
}

Classes& owner_of(JobSums& sums, const JobWho& who) {
  Owner owner{who.account, who.queue};
  const bool room = sums.owners.size() < kOwnersMax || sums.owners.count(owner) != 0;
  return sums.owners[room ? owner : Owner{std::string(kOtherOwners), std::string(kOtherOwners)}];
}

JobSum& job_of(JobSums& sums, const State& s, JobId id) {
  JobSum& j = sums.live[id];
  if (j.who == nullptr) {
    j.id = id;
    j.who = who_is(s, id);
  }
  return j;
}

// Below 0 it is taken away again: of a stretch's beginning.
void lose(std::vector<JobLoss>& lost, Cause cause, std::int64_t amount, std::int64_t losses) {
  auto it = std::find_if(lost.begin(), lost.end(), [&](const JobLoss& l) { return l.cause == cause; });
  if (it == lost.end()) it = lost.insert(lost.end(), JobLoss{cause});
  it->amount += amount;
  it->losses += static_cast<std::uint64_t>(losses);
}

void add_lost(std::vector<JobLoss>& to, const std::vector<JobLoss>& more, std::int64_t times) {
  for (const JobLoss& l : more) lose(to, l.cause, times * l.amount, times * static_cast<std::int64_t>(l.losses));
}

// Whether steps of this attempt are lost for the first time.
bool counts(JobSum& j, const State& s) {
  const Job* job = find_job(s, j.id);
  const std::uint32_t attempt = job == nullptr ? 0 : job->attempt;
  const bool fresh = attempt == 0 || attempt != j.lost_attempt;
  j.lost_attempt = attempt;
  return fresh;
}

// Returns how many attempts were counted as lost.
std::uint64_t add(JobSums& sums, const State& s, const Entry& x, Cause cause) {
  if (x.amount == 0) return 0;
  const std::size_t w = index(x.waste);
  CauseSum& c = sums.causes[cause];
  c.amount[w] += x.amount;
  if (!x.job.some()) {
    sums.nobody[w] += x.amount;
    return 0;
  }
  JobSum& j = job_of(sums, s, x.job);
  j.amount[w] += x.amount;
  owner_of(sums, *j.who)[w] += x.amount;
  if (x.waste != Waste::lost_restart) return 0;
  const std::uint64_t losses = counts(j, s) ? 1 : 0;
  c.losses += losses;
  lose(j.lost, cause, x.amount, static_cast<std::int64_t>(losses));
  return losses;
}

void add_vain(std::map<Cause, VainSum>& to, Cause cause, const VainSum& more, std::int64_t times) {
  VainSum& x = to[cause];
  x.amount += times * more.amount;
  x.starts += static_cast<std::uint64_t>(times) * more.starts;
  if (x == VainSum{}) to.erase(cause);
}

// Puts a loss that is booked down to something else. No class, job or owner has more or less by it.
void put_down_anew(JobSums& sums, const Moved& m) {
  const std::size_t w = index(Waste::lost_restart);
  if (m.amount != 0 || m.losses != 0) {
    CauseSum& from = sums.causes[m.from];
    from.amount[w] -= m.amount;
    from.losses -= m.losses;
    if (from.amount == Classes{}) sums.causes.erase(m.from);
    CauseSum& to = sums.causes[m.to];
    to.amount[w] += m.amount;
    to.losses += m.losses;
  }
  if (m.vain != VainSum{}) {
    add_vain(sums.vain, m.from, m.vain, -1);
    add_vain(sums.vain, m.to, m.vain, 1);
  }
  const auto j = sums.live.find(m.job);
  if (j == sums.live.end()) return;
  const auto losses = static_cast<std::int64_t>(m.losses);
  lose(j->second.lost, m.from, -m.amount, -losses);
  lose(j->second.lost, m.to, m.amount, losses);
  std::erase_if(j->second.lost, [](const JobLoss& l) { return l.amount == 0 && l.losses == 0; });
}

constexpr std::size_t kSweepStep = 1024;
constexpr std::size_t kUnexplainedMax = 10'000;

}  // namespace

std::int64_t sum(const Classes& c) { return std::accumulate(c.begin(), c.end(), std::int64_t{0}); }
std::int64_t wasted(const Classes& c) { return sum(c) - c[index(Waste::useful)] - c[index(Waste::unsettled)]; }

bool may_have_ended(Time sign, Time found, Time stopped) { return stopped + kSignLate >= sign && stopped + kFoundLate >= found; }

Time first_sign(const Finding& f) {
  Time out = std::min(f.began(), f.opened);
  for (const Evidence& x : f.evidence) out = std::min(out, x.at);
  return out;
}

bool ends_gangs(FindingKind k) {
  switch (k) {
    case FindingKind::gpu_lost:
    case FindingKind::ecc_uncorrectable:
    case FindingKind::row_remap_failed:
    case FindingKind::nvlink_degraded:
    case FindingKind::link_flap:
    case FindingKind::link_down:
    case FindingKind::gsp_timeout:
    case FindingKind::node_silent:
    case FindingKind::host_rebooted:
    case FindingKind::driver_hang:
    case FindingKind::gpu_fault:
    case FindingKind::host_fault: return true;
    default: return false;
  }
}

std::string_view name_of(Cause c) {
  switch (c.why) {
    case Why::work: return "work";
    case Why::starting: return "starting";
    case Why::checkpoint: return "checkpoint";
    case Why::slow: return "slow";
    case Why::idle: return "idle";
    case Why::finding: return names(FindingKind{})[c.which];
    case Why::attempt: return names(JobEnd{})[c.which];
    case Why::upgrade: return "upgrade";
    case Why::person: return "held_by_person";
    case Why::engine: return "held_by_engine";
    case Why::kept: return "kept_by_engine";
    case Why::muster: return "held_by_muster";
    case Why::node_down: return "node_down";
    case Why::booting: return "booting";
    case Why::unknown: break;
  }
  return "unknown";
}

JobBooks::JobBooks(std::size_t ended_max) : ended_max_(ended_max), sweep_at_(std::min(kSweepStep, ended_max)) {}

void JobBooks::take(const Event& e, const State& s) {
  if (std::holds_alternative<SiteDeclared>(e.body)) {
    *this = JobBooks(ended_max_);
    sums_.began = e.utc;
    nodes_.assign(s.nodes.size(), NodeCause{});
  }
  if (const auto* b = std::get_if<JobAmended>(&e.body)) {  // from now on its time is another's
    if (const auto it = sums_.live.find(b->job); it != sums_.live.end()) it->second.who = who_is(s, b->job);
  }
  std::vector<NodeId> turned;
  std::int64_t started = 0;  // of the attempt that is settled, since its last checkpoint
  keep(accounts_, e, s, [&](const Entry& x) {
    if (x.waste == Waste::lost_restart) {
      book_loss(e, s, x, started);
      started = 0;
      return;
    }
    if (x.waste == Waste::starting) started += x.amount;
    if (x.waste == Waste::slow && x.amount != 0) {
      const Cause by = of_slowness(s, e, x.job);
      if (by.why != Why::unknown) sums_.slowed[by] += x.amount;
    }
    if (!x.node.some()) {
      add(sums_, s, x, of_job(x.waste));
      return;
    }
    NodeCause& c = nodes_[x.node.v];
    add(sums_, s, {{}, x.node, x.waste, x.amount - c.told}, c.cause);
    c.told = 0;
    turned.push_back(x.node);
  });
  for (const NodeId n : turned) look_at(s, n);
  call_anew(e, s);
  look_again(e, s);
  explain_late(e, s);
  if (sums_.live.size() >= sweep_at_) put_away(s);
}

void JobBooks::book_loss(const Event& e, const State& s, const Entry& x, std::int64_t started) {
  const Cause cause = of_loss(s, e, x.job);
  const std::uint64_t losses = add(sums_, s, x, cause);
  const Job* j = find_job(s, x.job);
  const Cause by_node{Why::attempt, static_cast<std::uint8_t>(JobEnd::node_failed)};
  const bool over = std::holds_alternative<JobEnded>(e.body) || std::holds_alternative<JobGone>(e.body);
  const VainSum vain = over && started > 0 ? VainSum{started, 1} : VainSum{};
  if (vain != VainSum{}) add_vain(sums_.vain, cause, vain, 1);
  if ((x.amount == 0 && vain == VainSum{}) || j == nullptr || cause != by_node) return;
  unexplained_.push_back({{x.job, s.seq, cause, {}, x.amount, losses, vain}, e.utc, j->nodes});
  if (unexplained_.size() > kUnexplainedMax) unexplained_.pop_front();
}

// What is found later may show that an incident is another than it seemed.
void JobBooks::call_anew(const Event& e, const State& s) {
  IncidentId id;
  FindingId joined;
  if (const auto* x = std::get_if<IncidentOpened>(&e.body)) id = x->id, joined = x->finding;
  if (const auto* x = std::get_if<IncidentJoined>(&e.body)) id = x->id, joined = x->finding;
  if (const auto* x = std::get_if<FindingCleared>(&e.body)) {
    const Finding* f = find_finding(s, x->id);
    if (f != nullptr && f->node.v < s.nodes.size()) id = s.nodes[f->node.v].incident;
  }
  const Incident* i = find_incident(s, id);
  if (i == nullptr) return;
  // Every incident is named: which name what was booked has is not known here.
  sums_.became[id] = i->cause;
  while (!late_.empty() && e.utc - late_.front().at > kFoundLate) late_.pop_front();
  std::erase_if(late_, [&](const Late& l) {
    if (l.finding != joined) return false;
    Moved m = l.moved;
    m.from = m.to;
    m.to = of_incident(*i);
    move(m);
    return true;
  });
}

void JobBooks::move(const Moved& m) {
  sums_.moved.push_back(m);
  put_down_anew(sums_, m);
}

void JobBooks::explain_late(const Event& e, const State& s) {
  while (!unexplained_.empty() && e.utc - unexplained_.front().stopped > kFoundLate) unexplained_.pop_front();
  if (unexplained_.empty()) return;
  const Finding* f = nullptr;
  if (const auto* x = std::get_if<FindingOpened>(&e.body)) f = find_finding(s, x->finding.id);
  const auto* opened = std::get_if<IncidentOpened>(&e.body);
  if (opened != nullptr) f = find_finding(s, opened->finding);
  // A kind that ends no gang by itself counts once it is worth an incident, as it does where it was found before the end.
  if (f == nullptr || !f->node.some() || (opened == nullptr && !ends_gangs(f->kind))) return;
  std::erase_if(unexplained_, [&](const Unexplained& u) {
    const bool there = std::find(u.nodes.begin(), u.nodes.end(), f->node) != u.nodes.end();
    if (!there || !may_have_ended(first_sign(*f), f->opened, u.stopped)) return false;
    Moved m = u.loss;
    const Incident* i = opened == nullptr ? nullptr : find_incident(s, opened->id);
    m.to = i == nullptr ? of_finding(f->kind) : of_incident(*i);
    move(m);
    if (i == nullptr) late_.push_back({f->id, m, e.utc});
    return true;
  });
}

// The nodes whose cause this event may have changed; the accountant turns over only those whose class did.
void JobBooks::look_again(const Event& e, const State& s) {
  const auto all = [&] {
    for (std::uint32_t n = 0; n < nodes_.size(); ++n) look_at(s, NodeId{n});
  };
  const auto of_incident = [&](IncidentId id) {
    if (const Incident* i = find_incident(s, id)) look_at(s, i->node);
  };
  const auto finding = [&](const Finding* f) {
    if (f == nullptr) return;
    if (f->kind == FindingKind::common_cause) return all();
    look_at(s, f->node);
  };
  // Named while the state surely knows it: a short job may end before anything of it is booked.
  const auto began = [&](JobId id) {
    if (accounts_.jobs.count(id) != 0) job_of(sums_, s, id);
  };
  if (const auto* x = std::get_if<JobStarted>(&e.body)) return began(x->job);
  if (const auto* x = std::get_if<OrderIntended>(&e.body)) return began(x->order.action.job), look_at(s, x->order.action.node);
  if (const auto* x = std::get_if<OrderEnded>(&e.body)) {
    const auto it = s.orders.find(x->key);
    if (it != s.orders.end()) look_at(s, it->second.order.action.node);
  }
  if (const auto* x = std::get_if<NodeChanged>(&e.body)) return look_at(s, x->node);
  if (const auto* x = std::get_if<NodeHeld>(&e.body)) return look_at(s, x->node);
  if (const auto* x = std::get_if<TurnMoved>(&e.body)) return look_at(s, x->node);
  if (const auto* x = std::get_if<IncidentOpened>(&e.body)) return of_incident(x->id);
  if (const auto* x = std::get_if<IncidentJoined>(&e.body)) return of_incident(x->id);
  if (const auto* x = std::get_if<IncidentClosed>(&e.body)) return of_incident(x->id);
  if (const auto* x = std::get_if<FindingOpened>(&e.body)) return finding(&x->finding);
  if (const auto* x = std::get_if<FindingGrew>(&e.body)) return finding(find_finding(s, x->id));
  if (const auto* x = std::get_if<FindingCleared>(&e.body)) return finding(find_finding(s, x->id));
  if (std::holds_alternative<UpgradePhased>(e.body)) all();
}

void JobBooks::look_at(const State& s, NodeId n) {
  if (n.v >= nodes_.size()) return;
  NodeCause& c = nodes_[n.v];
  const Waste waste = accounts_.nodes[n.v].waste;
  const Cause now = of_node(s, n, waste);
  if (now == c.cause) return;
  const std::int64_t amount = unbooked(accounts_, s, n) - c.told;
  add(sums_, s, {{}, n, waste, amount}, c.cause);
  c.told += amount;
  c.cause = now;
}

void JobBooks::put_away(const State& s) {
  std::set<JobId> asked;  // what they lost may still be explained
  for (const Unexplained& u : unexplained_) asked.insert(u.loss.job);
  for (const Late& l : late_) asked.insert(l.moved.job);
  std::vector<JobSum> over;
  for (auto it = sums_.live.begin(); it != sums_.live.end();) {
    const Job* j = find_job(s, it->first);
    const bool lives = accounts_.jobs.count(it->first) != 0 || asked.count(it->first) != 0 || (j != nullptr && !ended(j->phase));
    if (!lives) over.push_back(std::move(it->second));
    it = lives ? std::next(it) : sums_.live.erase(it);
  }
  ended_kept_ += over.size();
  if (!over.empty()) sums_.ended.push_back(std::make_shared<const std::vector<JobSum>>(std::move(over)));
  while (ended_kept_ > ended_max_) {
    const JobSums::Ended oldest = sums_.ended.front();
    for (const JobSum& j : *oldest) sums_.forgotten += j.amount;
    sums_.jobs_forgotten += oldest->size();
    ended_kept_ -= oldest->size();
    sums_.ended.erase(sums_.ended.begin());
  }
  sweep_at_ = 2 * sums_.live.size() + std::min(kSweepStep, ended_max_);
}

JobSums JobBooks::close(const State& s, Time mono) const {
  JobSums out = sums_;
  const GpuHours g = balance(accounts_, s, mono, [&](const Entry& x) {
    if (!x.node.some()) {
      add(out, s, x, of_job(x.waste));
      return;
    }
    const NodeCause& c = nodes_[x.node.v];
    add(out, s, {{}, x.node, x.waste, x.amount - c.told}, c.cause);
  });
  out.installed = g.installed_ms * 1000;
  out.seq = s.seq;
  return out;
}

namespace {

// The earlier books as they would have been, had it been known then what was found since; or what moved would be below 0.
JobSums retold(JobSums from, const JobSums& to) {
  for (std::size_t i = from.moved.size(); i < to.moved.size(); ++i) {
    if (to.moved[i].seq <= from.seq) put_down_anew(from, to.moved[i]);
  }
  return from;
}

// Jobs that ended before both moments are in neither: what they had is the same.
std::vector<JobSum> jobs_between(const JobSums& from, const JobSums& to) {
  const std::set<JobSums::Ended> before(from.ended.begin(), from.ended.end());
  const std::set<JobSums::Ended> after(to.ended.begin(), to.ended.end());
  std::map<JobId, JobSum> jobs;
  const auto plus = [&](const JobSum& j) {
    JobSum& x = jobs[j.id];
    x.id = j.id;
    x.who = j.who;  // of the later part
    x.amount += j.amount;
    add_lost(x.lost, j.lost, 1);
  };
  const auto minus = [&](const JobSum& j) {
    const auto it = jobs.find(j.id);
    if (it == jobs.end()) return;
    it->second.amount = it->second.amount - j.amount;
    add_lost(it->second.lost, j.lost, -1);
  };
  for (const auto& e : to.ended) {
    if (before.count(e) == 0) std::for_each(e->begin(), e->end(), plus);
  }
  for (const auto& [id, j] : to.live) plus(j);
  for (const auto& e : from.ended) {
    if (after.count(e) == 0) std::for_each(e->begin(), e->end(), minus);
  }
  for (const auto& [id, j] : from.live) minus(j);
  std::vector<JobSum> out;
  for (auto& [id, j] : jobs) {  // below 0: an earlier part of it has been forgotten meanwhile
    if (sum(j.amount) > 0 || (sum(j.amount) == 0 && j.amount != Classes{})) out.push_back(std::move(j));
  }
  return out;
}

}  // namespace

JobSums only(const JobSums& all, JobId job) {
  JobSums out;
  out.began = all.began;
  out.jobs_forgotten = all.jobs_forgotten;
  out.seq = all.seq;
  out.became = all.became;
  for (const Moved& m : all.moved) {
    if (m.job == job) out.moved.push_back(m);
  }
  JobSum sum;
  const auto take = [&](const JobSum& j) {
    if (j.id != job) return;
    sum.id = job;
    sum.who = j.who;  // of the latest part
    sum.amount += j.amount;
    add_lost(sum.lost, j.lost, 1);
  };
  for (const auto& e : all.ended) std::for_each(e->begin(), e->end(), take);
  if (const auto it = all.live.find(job); it != all.live.end()) take(it->second);
  if (sum.who == nullptr) return out;
  for (std::size_t w = 0; w < sum.amount.size(); ++w) {
    const auto waste = static_cast<Waste>(w);
    if (sum.amount[w] != 0 && waste != Waste::lost_restart) out.causes[of_job(waste)].amount[w] += sum.amount[w];
  }
  for (const JobLoss& l : sum.lost) {
    CauseSum& c = out.causes[l.cause];
    c.amount[index(Waste::lost_restart)] += l.amount;
    c.losses += l.losses;
  }
  out.installed = account::sum(sum.amount);
  out.owners[{sum.who->account, sum.who->queue}] = sum.amount;
  out.live[job] = std::move(sum);
  return out;
}

Stretch difference(const JobSums& earlier, const JobSums& to) {
  const JobSums none;
  const bool same = earlier.began == to.began;
  const bool news = same && earlier.moved.size() < to.moved.size();
  const JobSums then = news ? retold(earlier, to) : none;
  const JobSums& from = news ? then : same ? earlier : none;
  Stretch out;
  out.installed = to.installed - from.installed;
  out.nobody = to.nobody - from.nobody;
  for (const auto& [cause, x] : from.causes) {  // what was work then, and is not any more, is below 0
    out.unsettled_before += x.amount[index(Waste::unsettled)];
    CauseSum& c = out.causes[by_final_name(to, cause)];
    c.amount = c.amount - x.amount;
    c.losses -= x.losses;
  }
  for (const auto& [cause, x] : to.causes) {
    CauseSum& c = out.causes[by_final_name(to, cause)];
    c.amount += x.amount;
    c.losses += x.losses;
  }
  for (const auto& [cause, x] : from.vain) add_vain(out.vain, by_final_name(to, cause), x, -1);
  for (const auto& [cause, x] : to.vain) add_vain(out.vain, by_final_name(to, cause), x, 1);
  for (const auto& [cause, x] : from.slowed) out.slowed[by_final_name(to, cause)] -= x;
  for (const auto& [cause, x] : to.slowed) out.slowed[by_final_name(to, cause)] += x;
  std::erase_if(out.slowed, [](const auto& x) { return x.second == 0; });
  for (const auto& [owner, x] : from.owners) out.owners[owner].amount = Classes{} - x;
  for (const auto& [owner, x] : to.owners) out.owners[owner].amount += x;
  const auto nothing = [](const auto& x) { return x.second.amount == Classes{}; };
  std::erase_if(out.causes, nothing);
  std::erase_if(out.owners, nothing);
  for (const auto& [cause, x] : out.causes) out.classes += x.amount;
  out.jobs = jobs_between(from, to);
  for (JobSum& j : out.jobs) {
    std::vector<JobLoss> named;
    for (const JobLoss& l : j.lost) lose(named, by_final_name(to, l.cause), l.amount, static_cast<std::int64_t>(l.losses));
    j.lost = std::move(named);
    const auto it = out.owners.find({j.who->account, j.who->queue});
    if (it != out.owners.end()) ++it->second.jobs;
  }
  out.jobs_forgotten = to.jobs_forgotten - from.jobs_forgotten;
  return out;
}

}  // namespace muster::account
