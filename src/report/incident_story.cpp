#include "report/incident_story.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>

#include "account/finding_cost.h"
#include "account/job_books.h"
#include "decide/words.h"
#include "report/record.h"

namespace muster::report {
namespace {

constexpr std::size_t kRecentKept = 500;

std::string phase_of(const Incident& i, bool busy, bool held_back) {
  switch (i.stage) {
    case Stage::opened: return held_back ? "held_back" : "decide";
    case Stage::draining: return "drain";
    case Stage::emptying: return busy ? "empty" : "prepare";
    case Stage::repairing: return "repair";
    case Stage::testing: return "test";
    case Stage::returning: return "return";
    case Stage::held: return "person";
    default: return std::string(name_of(i.stage));
  }
}

// Thousandths of GPUs that it has, on all its nodes.
std::int64_t milli_of(const State& s, const Job& j) {
  std::int64_t out = 0;
  for (const NodeId n : j.nodes) {
    if (n.v >= s.nodes.size()) continue;
    for (const Share& x : s.nodes[n.v].shares) {
      if (x.job == j.id) out += std::int64_t{x.milli} * std::popcount(x.slots);
    }
  }
  return out;
}

// Into what the books of goodput divide an attempt's time since its last checkpoint.
void divide(JobHit& h, const Progress& before, const Progress& at_end, std::int64_t ms) {
  std::int64_t left = std::max<std::int64_t>(0, ms);
  const auto take = [&](std::int64_t part) {
    part = std::clamp<std::int64_t>(part, 0, left);
    left -= part;
    return part;
  };
  h.starting_gpu_ms = take(at_end.init_ms - before.init_ms) * h.milli / 1000;
  take(at_end.checkpoint_ms - before.checkpoint_ms);
  take(at_end.slow_ms - before.slow_ms);
  h.lost_gpu_ms = left * h.milli / 1000;
}

JobHit hit_of(const State& s, const Job& j, const JobEnded& b, Time utc) {
  JobHit h;
  h.id = j.id;
  h.name = j.spec.name;
  h.user = j.spec.user;
  h.attempt = j.attempt;
  h.nodes = j.nodes;
  h.milli = milli_of(s, j);
  h.end = b.end;
  h.detail = b.detail;
  h.stopped = utc;
  h.lost_steps = b.progress.steps - std::min(b.progress.steps, b.progress.durable_steps);
  divide(h, j.progress, b.progress, (utc - j.checkpointed).ns / 1'000'000);
  return h;
}

bool uses(const State& s, const JobHit& h, NodeId node, std::int16_t slot) {
  if (std::find(h.nodes.begin(), h.nodes.end(), node) == h.nodes.end()) return false;
  if (slot < 0 || slot >= 16 || h.end == JobEnd::node_failed || node.v >= s.nodes.size()) return true;
  for (const Share& x : s.nodes[node.v].shares) {
    if (x.job == h.id) return (x.slots >> slot & 1) != 0;
  }
  return true;
}

std::string say_hit(const JobHit& h) {
  return fmt::format("job {} (attempt {}, {} GPUs) ended as {}{}", render(h.id), h.attempt, h.milli / 1000, name_of(h.end),
                     h.detail.empty() ? "" : ": " + h.detail);
}

}  // namespace

Finding* IncidentStory::mine(FindingId id) {
  const auto it = std::find_if(findings.begin(), findings.end(), [&](const Finding& f) { return f.id == id; });
  return it == findings.end() ? nullptr : &*it;
}

void IncidentStory::say(Time at, std::uint64_t seq, std::string what) {
  timeline.push_back({at, seq, std::move(what)});
  last_seq = std::max(last_seq, seq);
  if (timeline.size() <= kMomentsKept) return;
  timeline.erase(timeline.begin() + kMomentsKept / 2);  // how it began and how it stands are kept
  ++moments_left_out;
}

// What a job had when it ended is known only before its end is folded.
void IncidentStory::before(const Event& e, const State& s) {
  if (const auto* p = std::get_if<JobProgressed>(&e.body)) slow_down(s, p->job, p->attempt, p->progress, e.utc);
  const auto* b = std::get_if<JobEnded>(&e.body);
  if (b != nullptr) slow_down(s, b->job, b->attempt, b->progress, e.utc);
  if (b == nullptr || b->end == JobEnd::completed || b->end == JobEnd::timed_out) return;
  const Job* j = find_job(s, b->job);
  if (j == nullptr || j->attempt != b->attempt || j->phase != JobPhase::running) return;
  JobHit h = hit_of(s, *j, *b, e.utc);
  const bool failed = b->end == JobEnd::node_failed || b->end == JobEnd::app_failed;
  if (running() && incident.node.some()) {
    const bool ours = stopped_by_us_.count(b->job) != 0;
    if (ours || (failed && uses(s, h, incident.node, incident.slot))) {
      say(e, say_hit(h));
      jobs.push_back(std::move(h));
      return;
    }
  }
  if (found || !failed) return;
  recent_.push_back(std::move(h));
  if (recent_.size() > kRecentKept) recent_.pop_front();
}

void IncidentStory::slow_down(const State& s, JobId job, std::uint32_t attempt, const Progress& told, Time utc) {
  if (!running() || !account::slows_gangs(incident.cause)) return;
  const Job* j = find_job(s, job);
  if (j == nullptr || j->attempt != attempt || std::find(j->nodes.begin(), j->nodes.end(), incident.node) == j->nodes.end())
    return;
  const std::int64_t open_ms = (utc - std::max(began, j->checkpointed)).ns / 1'000'000;
  const std::int64_t ms = std::clamp<std::int64_t>(told.slow_ms - j->progress.slow_ms, 0, std::max<std::int64_t>(0, open_ms));
  if (ms == 0) return;
  slow_gpu_ms += ms * milli_of(s, *j) / 1000;
  slowed.insert(job);
}

void IncidentStory::open(const Event& e, const State& s, FindingId id) {
  const Incident* i = find_incident(s, id_);
  const Finding* f = find_finding(s, id);
  if (i == nullptr || f == nullptr) return;
  found = true;
  incident = *i;
  findings.push_back(*f);
  cleared_why.emplace_back();
  began = std::min(account::first_sign(*f), e.utc);
  if (!f->evidence.empty())
    say(began, e.seq, fmt::format("first sign, {}: {}", name_of(f->evidence.front().witness), f->evidence.front().text));
  first_seq = e.seq;
  for (const JobHit& h : recent_) {
    if (!account::may_have_ended(began, f->opened, h.stopped) || !uses(s, h, i->node, i->slot)) continue;
    say(h.stopped, e.seq, say_hit(h));
    jobs.push_back(h);
  }
  recent_.clear();
  say(e,
      fmt::format("found: {} (finding {}, {}); incident {} opened", decide::say(f->kind), f->id.v, name_of(f->severity), id_.v));
  if (i->node.v < s.nodes.size()) {
    for (const Share& x : s.nodes[i->node.v].shares) present.push_back(x.job);
  }
  phases.push_back({"detect", e.utc - began});
  spent_until_ = s.mono();
}

// Books the time since the last event to what the incident was in then.
void IncidentStory::spend(const State& s) {
  const Duration passed = s.mono() - spent_until_;
  spent_until_ = s.mono();
  if (passed.ns > 0 && !phase_.empty()) {
    const auto it = std::find_if(phases.begin(), phases.end(), [&](const Phase& p) { return p.name == phase_; });
    if (it == phases.end())
      phases.push_back({phase_, passed});
    else
      it->length = it->length + passed;
    if (out_) out_gpu_ms += passed.ns / 1'000'000 * free_gpus_;
  }
  const bool there = incident.node.v < s.nodes.size();
  const bool busy = there && s.nodes[incident.node.v].busy();
  phase_ = phase_of(incident, busy, refused_ > 0);
  if (!there) return;
  const NodeState& n = s.nodes[incident.node.v];
  out_ = n.hold != Hold::none || n.condition != NodeCondition::up || leaves_nothing_to_run_on(incident.cause);
  std::uint32_t taken = 0;
  for (const Share& x : n.shares) taken |= x.slots;
  free_gpus_ = std::int64_t{s.site.gpus_per_node} - std::popcount(taken);
}

void IncidentStory::told_of_orders(const Event& e, const State& s) {
  if (const auto* b = std::get_if<OrderIntended>(&e.body); b != nullptr && b->order.reason.incident == id_) {
    const Action& a = b->order.action;
    refused_ = 0;
    refusal_.clear();
    answered_ = false;
    given_.push_back({b->order.key, e.utc, a.verb});
    if (about_broken(a.verb)) stopped_by_us_.insert(a.job);
    if (!a.dossier.empty()) dossier = a.dossier;
    say(e, fmt::format("{} ordered: {}", say_action(node_name(s, a.node), a), b->order.reason.sentence));
  } else if (const auto* end = std::get_if<OrderEnded>(&e.body)) {
    const auto g = std::find_if(given_.begin(), given_.end(), [&](const Given& x) { return x.key == end->key; });
    if (g == given_.end()) return;
    say(e, fmt::format("{} {} after {}{}", name_of(g->verb), name_of(end->status), render_duration(e.utc - g->at),
                       end->detail.empty() ? "" : ": " + end->detail));
    if (end->status != Status::unknown) given_.erase(g);
    answered_ = true;
  } else if (const auto* no = std::get_if<OrderRefused>(&e.body); no != nullptr && no->reason.incident == id_) {
    ++refused_;
    const std::string what = fmt::format("{} held back: {}", name_of(no->action.verb), no->limit);
    if (what != refusal_) say(e, what);  // the same answer again is not news
    refusal_ = what;
  } else if (const auto* c = std::get_if<CommandGiven>(&e.body)) {
    const bool ours = c->node.some() && c->node == incident.node;
    const bool everywhere = c->verb == CommandVerb::pause || c->verb == CommandVerb::resume;
    if (ours || everywhere)
      say(e, fmt::format("{} asked to {}{}", c->actor, name_of(c->verb), c->reason.empty() ? "" : ": " + c->reason));
  }
}

void IncidentStory::told_of_work(const Event& e, const State& s) {
  if (const auto* b = std::get_if<JobStarted>(&e.body)) {
    for (JobHit& h : jobs) {
      if (h.id != b->job || h.restarted.ns != 0 || b->attempt <= h.attempt) continue;
      h.restarted = e.utc;
      say(e, fmt::format("job {} runs again (attempt {}), {} after it stopped", render(h.id), b->attempt,
                         render_duration(e.utc - h.stopped)));
    }
  } else if (const auto* gone = std::get_if<JobGone>(&e.body)) {
    for (JobHit& h : jobs) h.over = h.over || h.id == gone->job;
  } else if (const auto* n = std::get_if<NodeChanged>(&e.body); n != nullptr && n->node == incident.node && running()) {
    say(e,
        fmt::format("node {} is {}{}", node_name(s, n->node), name_of(n->condition), n->detail.empty() ? "" : ": " + n->detail));
  } else if (const auto* g = std::get_if<GpuSwapped>(&e.body); g != nullptr && g->node == incident.node && running()) {
    const std::string what =
        g->slot < 0 ? fmt::format("the whole node {}", node_name(s, g->node))
                    : fmt::format("GPU {} of {}{}", g->slot, node_name(s, g->node), g->uuid.empty() ? "" : ", now " + g->uuid);
    replaced.push_back(fmt::format("{} {}", render_utc(e.utc), what));
    say(e, "replaced: " + what);
  }
}

void IncidentStory::told(const Event& e, const State& s) {
  if (const auto* b = std::get_if<IncidentJoined>(&e.body); b != nullptr && b->id == id_) {
    if (const Finding* f = find_finding(s, b->finding)) {
      findings.push_back(*f);
      cleared_why.emplace_back();
      say(e, fmt::format("also {} (finding {}, {})", decide::say(f->kind), f->id.v, name_of(f->severity)));
    }
  } else if (const auto* grew = std::get_if<FindingGrew>(&e.body); grew != nullptr && mine(grew->id) != nullptr) {
    Finding& f = *mine(grew->id);
    f.severity = std::max(f.severity, grew->severity);
    if (grew->evidence.text.empty()) return;
    if (f.evidence.size() < kEvidenceTold)
      f.evidence.push_back(grew->evidence);
    else
      ++evidence_left_out;
  } else if (const auto* clear = std::get_if<FindingCleared>(&e.body); clear != nullptr && mine(clear->id) != nullptr) {
    Finding& f = *mine(clear->id);
    if (f.cleared.ns != 0) return;
    f.cleared = e.utc;
    cleared_why[static_cast<std::size_t>(&f - findings.data())] = clear->why;
    say(e,
        fmt::format("finding {} ({}) is no longer seen{}", f.id.v, name_of(f.kind), clear->why.empty() ? "" : ": " + clear->why));
  } else if (const auto* m = std::get_if<IncidentMoved>(&e.body); m != nullptr && m->id == id_ && !m->note.empty()) {
    if (!answered_ || m->stage == Stage::held || m->stage == Stage::watching) say(e, m->note);
    answered_ = false;
  } else if (const auto* z = std::get_if<CauseFrozen>(&e.body); z != nullptr && z->cause == incident.cause) {
    frozen.push_back(fmt::format("{} {}", render_utc(e.utc), z->why));
    say(e, fmt::format("acts on {} frozen: {}", name_of(z->cause), z->why));
  } else if (const auto* closed = std::get_if<IncidentClosed>(&e.body); closed != nullptr && closed->id == id_) {
    say(e, "closed: " + closed->resolution);
  }
}

void IncidentStory::after(const Event& e, const State& s) {
  if (!found) {
    const auto* b = std::get_if<IncidentOpened>(&e.body);
    if (b == nullptr || b->id != id_) return;
    open(e, s, b->finding);
  } else {
    told_of_work(e, s);
    if (!running()) return;
    told(e, s);
    told_of_orders(e, s);
  }
  if (const Incident* i = find_incident(s, id_); i != nullptr && running()) incident = *i;
  spend(s);
}

}  // namespace muster::report
