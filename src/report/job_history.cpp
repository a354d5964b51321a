#include "report/job_history.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/node_list.h"
#include "base/text.h"

namespace muster::report {
namespace {

constexpr std::size_t kNameBytesMax = 120;
constexpr std::size_t kWordsBytesMax = 200;
constexpr std::size_t kNodesBytesMax = 4000;
constexpr std::size_t kCheckpointsTold = 300;
constexpr Duration kFoundLater = minutes(15);  // a fault that broke an attempt may be found so long after it

// At most so many bytes, and no character cut in two.
std::string clip(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return std::string(text);
  std::size_t end = bytes_max;
  while (end > 0 && (static_cast<std::uint8_t>(text[end]) & 0xc0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "…";
}

template <class List>
void push_bounded(List& list, typename List::value_type x, std::uint32_t& dropped) {
  list.push_back(std::move(x));
  if (list.size() <= JobHistory::kListMax) return;
  list.pop_front();
  ++dropped;
}

// Half of them, in such a way that attempts keep their ends: what lies between is the mean of both.
template <class Points>
void thin(Points& points) {
  Points fewer;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const bool edge = points[i].begins || i + 1 == points.size() || points[i + 1].begins;
    if (edge || i % 2 == 0) fewer.push_back(points[i]);
  }
  if (fewer.size() == points.size()) {  // nothing but edges: the oldest attempts go
    fewer.erase(fewer.begin(), fewer.begin() + static_cast<std::ptrdiff_t>(fewer.size() / 2));
  }
  points = std::move(fewer);
}

// As the fold has it: a time to come is a clock that is wrong.
Time moment(Time at, Time utc) { return at.ns > 0 && at < utc ? at : utc; }

Time utc_of(std::int64_t ms) { return Time{} + milliseconds(ms); }

}  // namespace

struct JobHistory::Hearing {
  JobHistory& h;
  const Event& e;
  const State& s;

  void operator()(const JobSubmitted& b) { h.look_at(b.job, s, e); }
  void operator()(const JobAmended& b) { h.look_at(b.job, s, e); }
  void operator()(const JobStarted& b) { h.look_at(b.job, s, e); }
  void operator()(const JobRequeued& b) { h.look_at(b.job, s, e); }
  void operator()(const JobGone& b) { h.look_at(b.job, s, e); }
  void operator()(const JobProgressed& b) {
    const auto it = h.jobs_.find(b.job);
    const Job* j = find_job(s, b.job);
    if (it == h.jobs_.end() || j == nullptr || j->attempt != b.attempt) return;
    h.note_point(it->second, e.utc, b.attempt, b.progress, false);
  }
  void operator()(const JobEnded& b) {
    const auto it = h.jobs_.find(b.job);
    if (it == h.jobs_.end()) return;
    Record& r = it->second;
    const bool ran = !r.phases.empty() && r.phases.back().phase == JobPhase::running && r.phases.back().attempt == b.attempt;
    if (ran) {
      if (!r.points.empty() && b.progress.steps > r.points.back().progress.steps) {
        h.note_point(r, moment(b.at, e.utc), b.attempt, b.progress, false);
      }
      const bool failed = b.end == JobEnd::node_failed || b.end == JobEnd::app_failed;
      if (failed) h.broken_.push_back({e.utc, b.job, r.nodes});
    }
    h.look_at(b.job, s, e);
  }
  void operator()(const IncidentOpened& b) {
    if (const Incident* i = find_incident(s, b.id)) h.hit(*i, s, e.utc);
  }
  void operator()(const IncidentClosed& b) {
    if (const Incident* i = find_incident(s, b.id)) h.heal(*i, b.resolution, e.utc);
  }
  void operator()(const OrderIntended& b) {
    h.ordered(b, s, e.utc);
    if (b.order.action.job.some()) h.look_at(b.order.action.job, s, e);
  }
  void operator()(const OrderEnded& b) {
    h.order_ended(b.key, s, e.utc);
    if (const auto it = s.orders.find(b.key); it != s.orders.end() && it->second.order.action.job.some()) {
      h.look_at(it->second.order.action.job, s, e);
    }
  }
  void operator()(const OrderRefused& b) {
    if (!b.action.job.some()) return;
    Deed d;
    d.at_ms = d.ended_ms = e.utc.ms();
    d.incident = b.reason.incident.v;
    d.verb = h.pool_.put(name_of(b.action.verb));
    d.node = h.node_name(s, b.action.node);
    d.actor = h.pool_.put(clip(b.reason.actor, kNameBytesMax));
    d.sentence = h.pool_.put(clip("A safety limit said no: " + b.limit, kWordsBytesMax));
    d.status = h.pool_.put("refused_by_guard");
    h.note_deed(b.action.job, d);
  }
  void operator()(const CommandGiven& b) {
    if (!b.job.some() || s.commands.empty() || s.commands.back().seq != e.seq) return;  // a repeat
    Deed d;
    d.at_ms = d.ended_ms = e.utc.ms();
    d.verb = h.pool_.put(name_of(b.verb));
    d.actor = h.pool_.put(clip(b.actor, kNameBytesMax));
    d.sentence = h.pool_.put(clip(b.reason, kWordsBytesMax));
    d.status = h.pool_.put("asked");
    h.note_deed(b.job, d);
  }
  template <class Other>
  void operator()(const Other&) {}
};

void JobHistory::take(const Event& e, const State& s) {
  last_ = std::max(last_, e.utc);
  while (!broken_.empty() && e.utc - broken_.front().at > kFoundLater) broken_.pop_front();
  std::visit(Hearing{*this, e, s}, e.body);
}

std::uint32_t JobHistory::node_name(const State& s, NodeId n) {
  return n.v < s.site.nodes.size() ? pool_.put(clip(s.site.nodes[n.v].name, kNameBytesMax)) : 0;
}

// Where the job is in another phase or another attempt than was noted last, a stretch ends and the next begins.
void JobHistory::look_at(JobId id, const State& s, const Event& e) {
  const Job* j = find_job(s, id);
  if (j == nullptr) return;
  Record& r = jobs_[id];
  if (r.name == 0) r.name = pool_.put(clip(j->spec.name, kNameBytesMax));
  const auto* started = std::get_if<JobStarted>(&e.body);
  const auto* over = std::get_if<JobEnded>(&e.body);
  const bool moved = started != nullptr && j->attempt == started->attempt && r.nodes != started->nodes;  // told again, elsewhere
  if (!r.phases.empty() && r.phases.back().phase == j->phase && r.phases.back().attempt == j->attempt && !moved) return;
  Time at = moment(started != nullptr ? started->at : over != nullptr ? over->at : Time{}, e.utc);
  if (!r.phases.empty()) at = std::max(at, utc_of(r.phases.back().from_ms));
  Phase p;
  p.from_ms = at.ms();
  p.attempt = j->attempt;
  p.phase = j->phase;
  if (over != nullptr) {
    p.end = static_cast<std::uint8_t>(static_cast<std::uint8_t>(over->end) + 1);
    p.detail = pool_.put(clip(over->detail, kWordsBytesMax));
  }
  if (j->phase == JobPhase::running || j->phase == JobPhase::starting) {
    std::vector<std::string> names;
    for (const NodeId n : j->nodes) {
      if (n.v < s.site.nodes.size()) names.push_back(s.site.nodes[n.v].name);
    }
    p.node_count = static_cast<std::uint32_t>(names.size());
    p.nodes = pool_.put(clip(compress_node_list(std::move(names)), kNodesBytesMax));
  }
  push_bounded(r.phases, p, r.phases_dropped);
  r.nodes.clear();
  if (j->phase == JobPhase::running) {
    r.nodes = j->nodes;
    note_point(r, at, j->attempt, j->progress, true);
  }
  if (ended(j->phase)) put_away(id);
}

void JobHistory::note_point(Record& r, Time at, std::uint32_t attempt, const Progress& p, bool begins) {
  Point x{at.ms(), attempt, begins, p};
  if (!r.points.empty()) x.at_ms = std::max(x.at_ms, r.points.back().at_ms);
  r.points.push_back(x);
  if (r.points.size() > kPointsMax) thin(r.points);
}

void JobHistory::put_away(JobId id) {
  Record& r = jobs_[id];
  while (r.points.size() > kPointsEnded) thin(r.points);
  r.points.shrink_to_fit();
  ended_.push_back(id);
  if (ended_.size() <= kEndedMax) return;
  const auto oldest = jobs_.find(ended_.front());
  ended_.pop_front();
  // One that came back to life is not over, and will be put away again.
  if (oldest != jobs_.end() && !oldest->second.phases.empty() && ended(oldest->second.phases.back().phase)) jobs_.erase(oldest);
}

// Every job that has GPUs of the node, or lost its attempt there a moment ago.
void JobHistory::hit(const Incident& i, const State& s, Time utc) {
  std::vector<JobId> who;
  if (i.job.some()) who.push_back(i.job);
  if (i.node.v < s.nodes.size()) {
    for (const Share& x : s.nodes[i.node.v].shares) who.push_back(x.job);
  }
  for (const Broken& b : broken_) {
    if (std::find(b.nodes.begin(), b.nodes.end(), i.node) != b.nodes.end()) who.push_back(b.job);
  }
  std::sort(who.begin(), who.end());
  who.erase(std::unique(who.begin(), who.end()), who.end());
  std::erase_if(who, [&](JobId id) { return jobs_.count(id) == 0; });
  for (const JobId id : who) {
    Hit x;
    x.incident = i.id.v;
    x.from_ms = utc.ms();
    x.node = node_name(s, i.node);
    x.slot = i.slot;
    x.cause = i.cause;
    Record& r = jobs_[id];
    push_bounded(r.hits, x, r.hits_dropped);
  }
  if (!who.empty()) hit_[i.id] = std::move(who);
}

void JobHistory::heal(const Incident& i, const std::string& resolution, Time utc) {
  const auto it = hit_.find(i.id);
  if (it == hit_.end()) return;
  for (const JobId id : it->second) {
    const auto job = jobs_.find(id);
    if (job == jobs_.end()) continue;
    for (Hit& x : job->second.hits) {
      if (x.incident != i.id.v) continue;
      x.to_ms = std::max(x.from_ms, utc.ms());
      x.resolution = pool_.put(clip(resolution, kWordsBytesMax));
      x.cause = i.cause;  // as it was known in the end
      x.slot = i.slot;
    }
  }
  hit_.erase(it);
}

void JobHistory::note_deed(JobId job, Deed d) {
  const auto it = jobs_.find(job);
  if (it != jobs_.end()) push_bounded(it->second.deeds, d, it->second.deeds_dropped);
}

void JobHistory::ordered(const OrderIntended& b, const State& s, Time utc) {
  const Action& a = b.order.action;
  std::vector<JobId> whose;
  if (a.job.some()) {
    whose.push_back(a.job);
  } else if (on_node(a.verb) && a.verb != Verb::probe_node) {  // done on a node of a job, for what hit it there
    if (const auto it = hit_.find(b.order.reason.incident); it != hit_.end()) whose = it->second;
  }
  for (const JobId job : whose) {
    Deed d;
    d.id = next_deed_++;
    d.at_ms = utc.ms();
    d.incident = b.order.reason.incident.v;
    d.verb = pool_.put(name_of(a.verb));
    d.node = node_name(s, a.node);
    d.actor = pool_.put(clip(b.order.reason.actor, kNameBytesMax));
    d.sentence = pool_.put(clip(b.order.reason.sentence, kWordsBytesMax));
    d.status = pool_.put(name_of(Status::pending));
    note_deed(job, d);
    open_orders_[b.order.key].emplace_back(job, d.id);
  }
}

void JobHistory::order_ended(const std::string& key, const State& s, Time utc) {
  const auto it = open_orders_.find(key);
  const auto order = s.orders.find(key);
  if (it == open_orders_.end() || s.open_orders.count(key) != 0) return;
  for (const auto& [job, id] : it->second) {
    const auto record = jobs_.find(job);
    if (record == jobs_.end()) continue;
    for (Deed& d : record->second.deeds) {
      if (d.id != id) continue;
      d.ended_ms = utc.ms();
      if (order != s.orders.end()) d.status = pool_.put(name_of(order->second.status));
    }
  }
  open_orders_.erase(it);
}

// ---- telling

namespace {

tl::unexpected<Error> not_known(JobId job) {
  return fail(Code::not_found, fmt::format("the record tells nothing of a job {}", render(job)),
              "`muster get jobs` lists those there are; of jobs that ended, the last 100,000 are told of");
}

void time_field(JsonWriter& w, std::string_view name, std::int64_t ms, std::int64_t until_ms) {
  w.key(name);
  if (ms > until_ms) {  // it goes on, or had not come yet
    w.null();
  } else {
    w.value(render_utc(utc_of(ms)));
  }
}

}  // namespace

Result<std::vector<JobPoint>> JobHistory::points(JobId job, Time from, Time to) const {
  const auto it = jobs_.find(job);
  if (it == jobs_.end() || it->second.phases.empty() || utc_of(it->second.phases.front().from_ms) > to) return not_known(job);
  std::vector<JobPoint> out;
  for (const Point& p : it->second.points) {
    const Time at = utc_of(p.at_ms);
    if (at >= from && at <= to) out.push_back({at, p.attempt, p.begins, p.progress});
  }
  return out;
}

Result<std::string> JobHistory::timeline_json(JobId job, Time to) const {
  const auto it = jobs_.find(job);
  const Time end = std::min(to, last_);
  const std::int64_t until = end.ms();
  if (it == jobs_.end() || it->second.phases.empty() || it->second.phases.front().from_ms > until) return not_known(job);
  const Record& r = it->second;
  JsonWriter w;
  w.object().field("apiVersion", "v1").field("kind", "JobTimeline").field("job", render(job)).field("name", pool_.get(r.name));
  w.field("from_utc", render_utc(utc_of(r.phases.front().from_ms))).field("to_utc", render_utc(end)).key("phases").array();
  for (std::size_t i = 0; i < r.phases.size() && r.phases[i].from_ms <= until; ++i) {
    const Phase& p = r.phases[i];
    w.object().field("phase", name_of(p.phase)).field("attempt", p.attempt).field("from_utc", render_utc(utc_of(p.from_ms)));
    time_field(w, "to_utc", i + 1 < r.phases.size() ? r.phases[i + 1].from_ms : kGoesOn, until);
    w.field("end", p.end == 0 ? std::string_view() : names(JobEnd{})[p.end - 1u]).field("detail", pool_.get(p.detail));
    w.field("nodes", pool_.get(p.nodes)).field("node_count", p.node_count).end_object();
  }
  w.end_array();
  std::vector<const Point*> saved;
  std::uint64_t durable = 0;
  for (const Point& p : r.points) {
    if (p.at_ms > until) break;
    if (!p.begins && p.progress.durable_steps > durable) saved.push_back(&p);
    durable = std::max(durable, p.progress.durable_steps);
  }
  const std::size_t every = std::max<std::size_t>(1, (saved.size() + kCheckpointsTold - 1) / kCheckpointsTold);
  w.field("checkpoints_in_all", saved.size()).key("checkpoints").array();
  for (std::size_t i = 0; i < saved.size(); i += every) {
    w.object().field("at_utc", render_utc(utc_of(saved[i]->at_ms))).field("step", saved[i]->progress.durable_steps);
    w.field("attempt", saved[i]->attempt).end_object();
  }
  w.end_array().key("incidents").array();
  for (const Hit& x : r.hits) {
    if (x.from_ms > until) break;
    w.object().field("id", x.incident).field("node", pool_.get(x.node)).key("gpu_slot");
    x.slot < 0 ? w.null() : w.value(static_cast<int>(x.slot));
    w.field("cause", name_of(x.cause)).field("opened_utc", render_utc(utc_of(x.from_ms)));
    time_field(w, "closed_utc", x.to_ms, until);
    w.field("resolution", x.to_ms > until ? std::string_view() : pool_.get(x.resolution)).end_object();
  }
  w.end_array().key("actions").array();
  for (const Deed& d : r.deeds) {
    if (d.at_ms > until) break;
    w.object().field("verb", pool_.get(d.verb)).field("at_utc", render_utc(utc_of(d.at_ms)));
    time_field(w, "ended_utc", d.ended_ms, until);
    w.field("node", pool_.get(d.node)).field("status", d.ended_ms > until ? name_of(Status::pending) : pool_.get(d.status));
    w.field("incident", d.incident).field("actor", pool_.get(d.actor)).field("sentence", pool_.get(d.sentence)).end_object();
  }
  w.end_array().key("left_out").object();
  if (r.phases_dropped > 0) w.field("phases", r.phases_dropped);
  if (r.hits_dropped > 0) w.field("incidents", r.hits_dropped);
  if (r.deeds_dropped > 0) w.field("actions", r.deeds_dropped);
  w.end_object().end_object();
  return w.take();
}

}  // namespace muster::report
