#include "account/waterfall.h"

#include <algorithm>
#include <utility>

#include "base/civil.h"

namespace muster::account {
namespace {

__extension__ using Wide = __int128;

// What an engine says of jobs that it starts itself: they wait for room like all others.
constexpr std::string_view kEnginePlaces = "Slurm places it";

SiteClass class_of(Waste w) {
  switch (w) {
    case Waste::useful: return SiteClass::useful;
    case Waste::idle: return SiteClass::idle_no_demand;  // until spend() takes from it what somebody waited for
    case Waste::starting: return SiteClass::starting;
    case Waste::checkpoint: return SiteClass::checkpoint;
    case Waste::slow: return SiteClass::stalled;
    case Waste::lost_restart: return SiteClass::lost_restart;
    case Waste::drained: return SiteClass::drained;
    case Waste::down: return SiteClass::down;
    case Waste::unsettled: break;
  }
  return SiteClass::unsettled;
}

std::string type_of(const Site& site, NodeId n) {
  const std::string& own = site.nodes[n.v].gpu_model;
  return own.empty() ? site.gpu_model : own;
}

FlowOwner owner_of(const State& s, const Job& j) {
  std::set<std::string> types;
  for (const NodeId n : j.nodes) {
    if (n.v < s.site.nodes.size()) types.insert(type_of(s.site, n));
  }
  FlowOwner o{true, j.spec.account, j.spec.user, j.spec.pool.empty() ? queue_of(j.spec) : j.spec.pool, {}};
  for (const std::string& t : types) o.gpu_type += (o.gpu_type.empty() ? "" : "+") + t;
  return o;
}

// Whether it would have told of its progress, had there been any.
bool tells(const State& s, JobId id) {
  const Job* j = find_job(s, id);
  return j != nullptr && j->spec.checkpoint_every_s >= 0;
}

Tariff tariff_of(const State& s) { return {s.now.utc, s.policy.gpu_hour_price, s.policy.currency, s.policy.price_assumed}; }

constexpr std::int64_t kDaysCutMax = 4000;  // of a clock that was set

}  // namespace

bool could_begin(const Job& j) {
  return j.waits_for.empty() && !j.hopeless && (j.spec.barred.empty() || j.spec.barred.starts_with(kEnginePlaces));
}

SiteSum Flow::sum() const {
  SiteSum out;
  for (const auto& [cell, x] : cells) out += x;
  return out;
}

Waterfall::Waterfall(Time from, Time to) : from_(from), to_(to) {}

void Waterfall::begin(const Event& e, const State& s) {
  const Time before = flow_.before.ns != 0 ? flow_.before : flow_.from;
  *this = Waterfall(from_, to_);
  flow_.before = before;
  last_ms_ = s.mono().ms();
  last_utc_ = e.utc;
  flow_.milli_gpus = std::int64_t{1000} * s.site.gpus();
  flow_.tariffs.push_back(tariff_of(s));
  std::map<std::string, std::uint32_t> number;
  for (std::uint32_t n = 0; n < s.site.nodes.size(); ++n) {
    const auto [it, fresh] = number.try_emplace(type_of(s.site, NodeId{n}), static_cast<std::uint32_t>(types_.size()));
    if (fresh) types_.push_back(it->first);
    type_of_.push_back(it->second);
  }
  idle_of_.assign(s.site.nodes.size(), 0);
  idle_type_.assign(types_.size(), 0);
  waiting_type_.assign(types_.size() + 1, 0);
  cut(last_ms_, last_utc_);
}

// Another day, another price, or the beginning or end of what is looked at.
void Waterfall::cut(std::int64_t at_ms, Time utc) {
  const Cut c{at_ms, {day_of(utc), static_cast<std::uint32_t>(flow_.tariffs.size() - 1)}, utc >= from_ && utc < to_};
  if (!cuts_.empty() && cuts_.back().from_ms == at_ms) {
    cuts_.back() = c;
  } else {
    cuts_.push_back(c);
  }
  flow_.from = flow_.from.ns == 0 ? std::max(utc, from_) : flow_.from;
}

// Time goes on, with what is idle and who waits as they were.
void Waterfall::pass(Time mono, Time utc) {
  const std::int64_t to_ms = mono.ms();
  std::vector<Time> borders;
  const std::int64_t last = day_of(utc);
  for (std::int64_t d = std::max(day_of(last_utc_) + 1, last - kDaysCutMax); d <= last; ++d) borders.push_back(begin_of(d));
  for (const Time t : {from_, to_}) {
    if (t > last_utc_ && t <= utc) borders.push_back(t);
  }
  std::sort(borders.begin(), borders.end());
  std::int64_t done = last_ms_;
  for (const Time b : borders) {
    // From the clocks as they are: of rounded ones a border would lie a millisecond sooner or later, as the moment has it.
    const std::int64_t at = std::clamp((mono - (utc - b)).ms(), done, to_ms);
    spend(done, at);
    cut(at, b);
    done = at;
  }
  spend(done, to_ms);
  if (utc < last_utc_) cut(to_ms, utc);  // the clock was set back
  last_ms_ = to_ms;
  last_utc_ = utc;
}

void Waterfall::spend(std::int64_t from_ms, std::int64_t to_ms) {
  while (from_ms < to_ms) {
    std::int64_t next = to_ms;
    for (const auto& [id, p] : paused_) next = std::min(next, std::max(p.until_ms, from_ms));
    spend_even(next - from_ms);
    from_ms = next;
    for (auto it = paused_.begin(); it != paused_.end();) {  // from now on they are wanted back
      if (it->second.until_ms > from_ms) {
        ++it;
        continue;
      }
      waiting_[it->first] = it->second.wish;
      count(it->second.wish, 1);
      it = paused_.erase(it);
    }
  }
}

// Idle GPUs that somebody waited for: of each type as many as jobs want of just that, and of what is then left over as many as
// jobs want of any, by what each type has of it.
void Waterfall::spend_even(std::int64_t lasted_ms) {
  if (idle_milli_ == 0 || waiting_milli_ == 0 || lasted_ms == 0) return;
  std::vector<std::int64_t> parts(types_.size());
  std::int64_t rest = 0;
  for (std::size_t t = 0; t < parts.size(); ++t) {
    parts[t] = std::min(idle_type_[t], waiting_type_[t]);
    rest += idle_type_[t] - parts[t];
  }
  const std::int64_t wanted = std::min(rest, waiting_type_.back());
  std::int64_t left = wanted;
  const std::vector<std::int64_t> bound = parts;
  for (std::size_t t = 0; wanted > 0 && t < parts.size(); ++t) {
    const auto more = static_cast<std::int64_t>(static_cast<Wide>(wanted) * (idle_type_[t] - bound[t]) / rest);
    parts[t] += more;
    left -= more;
  }
  for (std::size_t t = 0; t < parts.size(); ++t) {
    const std::int64_t more = std::min(left, idle_type_[t] - parts[t]);  // what rounding left over
    left -= more;
    const FlowOwner nobody{false, {}, {}, {}, types_[t]};
    const std::int64_t amount = (parts[t] + more) * lasted_ms;
    add(cuts_.back(), SiteClass::idle_no_demand, -amount, nobody, {});
    add(cuts_.back(), SiteClass::idle_fragmented, amount, nobody, {});
  }
}

// A job waits from now on, or does no more.
void Waterfall::count(const Wish& w, std::int64_t sign) {
  waiting_milli_ += sign * w.milli;
  waiting_type_[w.type] += sign * w.milli;
}

void Waterfall::add(const Cut& at, SiteClass c, std::int64_t amount, const FlowOwner& owner, JobId job) {
  if (!at.inside || amount == 0) return;
  flow_.cells[at.cell][c] += amount;
  flow_.owners[{owner, at.cell}][c] += amount;
  if (!job.some()) return;
  JobFlow& j = flow_.jobs[job];
  j.owner = owner;
  j.by_tariff[at.cell.tariff][c] += amount;
}

void Waterfall::lay(SiteClass c, const Part& part, const FlowOwner& owner, JobId job) {
  if (part.amount == 0) return;
  const auto& [amount, before, from_ms, to_ms] = part;
  auto at = std::upper_bound(cuts_.begin(), cuts_.end(), from_ms, [](std::int64_t ms, const Cut& x) { return ms < x.from_ms; });
  if (at != cuts_.begin()) --at;
  std::int64_t laid = 0;
  for (; at != cuts_.end() && (at->from_ms < to_ms || laid != amount); ++at) {
    const auto next = at + 1;
    const std::int64_t end = next == cuts_.end() || to_ms <= from_ms ? to_ms : std::min(next->from_ms, to_ms);
    const auto share = [&](std::int64_t of) {
      return static_cast<std::int64_t>(static_cast<Wide>(of) * (end - from_ms) / (to_ms - from_ms));
    };
    const std::int64_t by_then = end >= to_ms ? amount : share(before + amount) - share(before);
    add(*at, c, by_then - laid, owner, job);
    laid = by_then;
  }
}

void Waterfall::book(Entry x, std::int64_t to_ms, const State& s, const Event* e) {
  if (!x.job.some()) {
    const FlowOwner nobody{false, {}, {}, {}, types_[type_of_[x.node.v]]};
    const std::int64_t since_ms = accounts_.nodes[x.node.v].since_ms, silent = silence_of(x, to_ms);
    lay(SiteClass::down, {silent, 0, since_ms, to_ms}, nobody);
    lay(class_of(x.waste), {x.amount - silent, silent, since_ms, to_ms}, nobody);
    return;
  }
  const auto clock = accounts_.jobs.find(x.job);
  const std::int64_t from_ms = clock == accounts_.jobs.end() ? to_ms : clock->second.settled_ms;
  if (who_.count(x.job) == 0) know(x.job, s);
  SiteClass c = class_of(x.waste);
  const bool work = x.waste == Waste::useful || x.waste == Waste::lost_restart;
  if (work && told_.count(x.job) == 0 && !tells(s, x.job)) c = SiteClass::unseen;
  if (const auto h = held_.find(x.job); work && h != held_.end()) {
    const auto* b = e == nullptr ? nullptr : std::get_if<JobProgressed>(&e->body);
    if (b == nullptr || b->progress.durable_steps >= h->second.steps) {
      for (const Part& p : h->second.parts) lay(c, p, who_[x.job], x.job);
      held_.erase(h);
    }
  }
  std::int64_t& before = laid_[x.job];
  Part all{x.amount, before, from_ms, to_ms};
  before += x.amount;
  if (e != nullptr && c == SiteClass::useful) hold_back(*e, s, x.job, all);
  lay(c, all, who_[x.job], x.job);
}

// A node that is held, and does not answer: its engine has not noticed yet, and nobody chose that.
void Waterfall::hear(const Event& e, const State& s, std::int64_t now) {
  if (const auto* x = std::get_if<NodeChanged>(&e.body); x != nullptr && x->condition == NodeCondition::up) {
    if (const auto it = silent_.find(x->node); it != silent_.end()) it->second.from_ms = -1;
  }
  const auto* opened = std::get_if<FindingOpened>(&e.body);
  const auto* cleared = std::get_if<FindingCleared>(&e.body);
  const Finding* f = opened != nullptr ? &opened->finding : cleared != nullptr ? find_finding(s, cleared->id) : nullptr;
  if (f == nullptr || f->kind != FindingKind::node_silent || f->node.v >= accounts_.nodes.size()) return;
  Silence& x = silent_[f->node];
  if (opened != nullptr && x.from_ms < 0) x.from_ms = now;
  if (cleared != nullptr && x.from_ms >= 0) {
    x.before_ms += now - std::max(x.from_ms, accounts_.nodes[f->node.v].since_ms);
    x.from_ms = -1;
  }
}

// So much of what a node was held it did not answer.
std::int64_t Waterfall::silence_of(const Entry& x, std::int64_t to_ms) {
  const auto it = silent_.find(x.node);
  if (it == silent_.end()) return 0;
  const std::int64_t from_ms = accounts_.nodes[x.node.v].since_ms;
  const Silence was = it->second;
  if (was.from_ms < 0) {
    silent_.erase(it);
  } else {
    it->second.before_ms = 0;
  }
  if (x.waste != Waste::drained || to_ms <= from_ms) return 0;
  const std::int64_t open_ms = was.from_ms < 0 ? 0 : to_ms - std::max(was.from_ms, from_ms);
  return x.amount / (to_ms - from_ms) * std::min(was.before_ms + open_ms, to_ms - from_ms);
}

// What is not safe yet of work that was told of: done after the checkpoint was begun, or after it was told that it is written.
void Waterfall::hold_back(const Event& e, const State& s, JobId job, Part& all) {
  const auto* b = std::get_if<JobProgressed>(&e.body);
  if (b == nullptr || all.amount == 0) return;
  const std::int64_t lasted_ms = all.to_ms - all.from_ms;
  const std::int64_t late_ms = std::clamp<std::int64_t>((s.now.utc - e.utc).ns / 1'000'000, 0, lasted_ms);
  const std::int64_t late = std::min(all.amount, all.amount / lasted_ms * late_ms);
  const std::uint64_t before = std::exchange(steps_[job], b->progress.steps);
  const std::uint64_t done = b->progress.steps > before ? b->progress.steps - before : 0;
  const std::uint64_t open = b->progress.steps - std::min(b->progress.steps, b->progress.durable_steps);
  const std::int64_t unsafe =
      done == 0 ? 0 : static_cast<std::int64_t>(static_cast<Wide>(all.amount - late) * std::min(open, done) / done);
  if (late + unsafe == 0) return;
  all.amount -= late + unsafe;
  const Part part{late + unsafe, all.before + all.amount, all.from_ms, all.to_ms};
  Held& h = held_[job];
  h.steps = b->progress.steps;
  // Parts of one day and price are laid there whatever their shares of it: a job that writes no checkpoint must not keep them
  // all.
  const std::int64_t day_ms = cuts_.back().from_ms;
  if (!h.parts.empty() && h.parts.back().from_ms >= day_ms) {
    h.parts.back().amount += part.amount;
    h.parts.back().to_ms = part.to_ms;
  } else {
    h.parts.push_back(part);
  }
}

void Waterfall::turned(NodeId n, const State& s) {
  const NodeClock& c = accounts_.nodes[n.v];
  std::int64_t idle = 0;
  if (c.waste == Waste::idle) {
    idle = std::int64_t{1000} * s.site.gpus_per_node;
    for (const auto& [job, milli] : c.jobs) idle -= milli;
  }
  const std::int64_t more = idle - idle_of_[n.v];
  idle_of_[n.v] = idle;
  idle_type_[type_of_[n.v]] += more;
  idle_milli_ += more;
}

void Waterfall::begin_attempt(JobId id, const State& s) {
  told_.erase(id);
  know(id, s);
  const Job* j = find_job(s, id);
  steps_[id] = j == nullptr ? 0 : j->progress.durable_steps;
}

// Who it is whose time is booked from now on.
void Waterfall::know(JobId id, const State& s) {
  const Job* j = find_job(s, id);
  if (j == nullptr) return;
  who_[id] = owner_of(s, *j);
  flow_.jobs[id].name = j->spec.name;
}

void Waterfall::forget(JobId id) {
  if (accounts_.jobs.count(id) != 0) return;
  who_.erase(id);
  told_.erase(id);
  steps_.erase(id);
  const auto it = flow_.jobs.find(id);
  if (it != flow_.jobs.end() && it->second.by_tariff.empty()) flow_.jobs.erase(it);
  if (flow_.jobs.size() <= kFlowJobsMax) return;
  for (auto j = flow_.jobs.begin(); j != flow_.jobs.end() && flow_.jobs.size() > kFlowJobsMax / 4 * 3;) {
    const bool lives = accounts_.jobs.count(j->first) != 0;
    flow_.jobs_forgotten += lives ? 0 : 1;
    j = lives ? std::next(j) : flow_.jobs.erase(j);
  }
}

// Whether a job waits, and for how much.
void Waterfall::look(JobId id, const State& s) {
  if (const auto it = waiting_.find(id); it != waiting_.end()) {
    count(it->second, -1);
    waiting_.erase(it);
  }
  paused_.erase(id);
  later_.erase(id);
  const Job* j = find_job(s, id);
  if (j == nullptr || j->phase != JobPhase::queued) return;
  const auto type = std::find(types_.begin(), types_.end(), j->spec.gpu_model);
  const Wish wish{milli_gpus(s.site, j->spec), static_cast<std::size_t>(type - types_.begin())};
  if (!could_begin(*j)) {
    later_.insert(id);
  } else if (j->paused_until > s.mono()) {
    paused_[id] = {j->paused_until.ms(), wish};
  } else {
    waiting_[id] = wish;
    count(wish, 1);
  }
}

void Waterfall::look_at(const Event& e, const State& s) {
  const auto others = [&] {  // that waited for it to end
    const std::set<JobId> all = later_;
    for (const JobId id : all) look(id, s);
  };
  if (const auto* x = std::get_if<JobSubmitted>(&e.body)) return look(x->job, s);
  if (const auto* x = std::get_if<JobAmended>(&e.body)) return look(x->job, s);
  if (const auto* x = std::get_if<JobStarted>(&e.body)) return look(x->job, s);
  if (const auto* x = std::get_if<JobRequeued>(&e.body)) return look(x->job, s), forget(x->job);
  if (const auto* x = std::get_if<JobEnded>(&e.body)) return look(x->job, s), others(), forget(x->job);
  if (const auto* x = std::get_if<JobGone>(&e.body)) return look(x->job, s), others(), forget(x->job);
  if (const auto* x = std::get_if<OrderIntended>(&e.body); x != nullptr && x->order.action.job.some())
    return look(x->order.action.job, s);
  if (const auto* x = std::get_if<OrderEnded>(&e.body)) {
    const auto it = s.orders.find(x->key);
    if (it != s.orders.end() && it->second.order.action.job.some()) look(it->second.order.action.job, s);
  }
}

void Waterfall::take(const Event& e, const State& s) {
  if (std::holds_alternative<SiteDeclared>(e.body)) begin(e, s);
  if (flow_.tariffs.empty()) return;  // there is no site yet
  const std::int64_t now = s.mono().ms();
  if (now != last_ms_ || s.now.utc != last_utc_) pass(s.mono(), s.now.utc);
  laid_.clear();
  if (std::holds_alternative<PolicyApplied>(e.body)) {
    const Tariff t = tariff_of(s);
    Tariff& last = flow_.tariffs.back();
    const bool other = t.price != last.price || t.currency != last.currency || t.assumed != last.assumed;
    const bool unused = cuts_.back().from_ms == now && cuts_.back().cell.tariff + 1 == flow_.tariffs.size() && cuts_.size() == 1;
    if (other && unused) last = t;
    if (other && !unused) flow_.tariffs.push_back(t);
    if (other) cut(now, s.now.utc);
  }
  if (const auto* x = std::get_if<JobStarted>(&e.body)) begin_attempt(x->job, s);
  if (const auto* x = std::get_if<OrderIntended>(&e.body); x != nullptr && x->order.action.verb == Verb::start_job)
    know(x->order.action.job, s);
  if (const auto* x = std::get_if<JobAmended>(&e.body); x != nullptr && who_.count(x->job) != 0) know(x->job, s);
  if (const auto* x = std::get_if<JobProgressed>(&e.body); x != nullptr && x->progress != Progress{}) told_.insert(x->job);
  if (const auto* x = std::get_if<JobEnded>(&e.body); x != nullptr && x->progress != Progress{}) told_.insert(x->job);
  std::vector<NodeId> nodes;
  keep(accounts_, e, s, [&](const Entry& x) {
    book(x, now, s, &e);
    if (x.node.some()) nodes.push_back(x.node);
  });
  for (const NodeId n : nodes) turned(n, s);
  hear(e, s, now);
  if (std::holds_alternative<SiteDeclared>(e.body)) {
    for (std::uint32_t n = 0; n < accounts_.nodes.size(); ++n) turned(NodeId{n}, s);
  }
  look_at(e, s);
}

Flow Waterfall::close(const State& s, Time mono, Time utc) const {
  Waterfall w = *this;
  if (w.flow_.tariffs.empty()) return {};
  w.pass(mono.ms() < last_ms_ ? s.mono() : mono, utc);
  w.laid_.clear();
  (void)balance(accounts_, s, mono, [&](const Entry& x) { w.book(x, mono.ms(), s, nullptr); });
  for (const auto& [id, h] : w.held_) {
    for (const Part& p : h.parts) w.lay(SiteClass::unsettled, p, w.who_[id], id);
  }
  w.flow_.to = std::min(utc, to_);
  for (auto it = w.flow_.jobs.begin(); it != w.flow_.jobs.end();) {
    it = it->second.by_tariff.empty() ? w.flow_.jobs.erase(it) : std::next(it);
  }
  return std::move(w.flow_);
}

std::map<std::int64_t, SiteSum> by_day(const Flow& f) {
  std::map<std::int64_t, SiteSum> out;
  for (const auto& [cell, x] : f.cells) out[cell.day] += x;
  return out;
}

bool whole_day(const Flow& f, std::int64_t day) {
  constexpr std::int64_t kDay_ms = 86'400'000;
  std::int64_t sum = 0;
  for (auto it = f.cells.lower_bound({day, 0}); it != f.cells.end() && it->first.day == day; ++it) sum += it->second.installed();
  return sum > 0 && sum >= f.milli_gpus * (kDay_ms / 100 * 99);
}

Streak streak_of(const Flow& f, double target) {
  Streak out;
  std::int64_t before = INT64_MIN;
  for (const auto& [day, x] : by_day(f)) {
    if (!whole_day(f, day)) continue;
    ++out.complete;
    const bool reached = x.efficiency() >= target;
    out.reached += reached ? 1 : 0;
    out.days = !reached ? 0 : day == before + 1 || out.days == 0 ? out.days + 1 : 1;
    out.longest = std::max(out.longest, out.days);
    before = day;
  }
  return out;
}

}  // namespace muster::account
