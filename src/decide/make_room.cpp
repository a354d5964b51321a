#include "decide/make_room.h"

#include <fmt/core.h>

#include <set>

#include "base/text.h"
#include "decide/moves/defrag.h"
#include "decide/moves/preempt.h"
#include "decide/place/certificate.h"
#include "decide/queue.h"
#include "decide/schedule/pause.h"

namespace muster::decide {
namespace {

constexpr double kWorthMoving_gpu_h = 0.5;  // less is not worth anybody's attention
constexpr std::size_t kAskers = 4;          // the first so many of the order that may take from others

// Somebody has been asked to leave and has not left: what comes of that is waited for.
bool under_way(const State& s) {
  return std::any_of(s.open_orders.begin(), s.open_orders.end(), [&](const std::string& key) {
    const Order& o = s.orders.at(key).order;
    const bool stops = o.action.verb == Verb::requeue_job || o.action.verb == Verb::restart_job;
    return stops && !o.reason.incident.some() && o.reason.wish.empty();
  });
}

Wanted stop(const State& s, JobId id, std::string rule, std::string sentence, std::vector<std::string> alternatives) {
  Wanted w;
  w.action.verb = Verb::requeue_job;
  w.action.job = id;
  w.action.attempt = s.jobs.at(id).attempt;
  w.reason.rule = std::move(rule);
  w.reason.sentence = std::move(sentence);
  w.reason.alternatives = std::move(alternatives);
  w.reason.actor = "muster";
  return w;
}

// How often the queue has stopped or moved it within a day.
std::uint32_t stops_of(const State& s, JobId id) {
  return static_cast<std::uint32_t>(
      std::count_if(s.harms.begin(), s.harms.end(), [&](const Harm& h) { return !h.node.some() && h.job == id; }));
}

std::vector<Gang> running_gangs(const State& s, ClusterView& view, const Quotas& quotas, const Line& line) {
  std::vector<Gang> gangs;
  for (const Runner& r : line.running) {
    const Job& j = s.jobs.at(r.id);
    if (j.phase == JobPhase::running && stops_of(s, j.id) < s.policy.scheduling.stops_per_day)
      gangs.push_back(gang_of(s, view, quotas, j));
  }
  std::sort(gangs.begin(), gangs.end(), [](const Gang& a, const Gang& b) { return a.id < b.id; });
  return gangs;
}

std::set<JobId> started_in(const Pass& pass) {
  std::set<JobId> ids;
  for (const Start& x : pass.starts) ids.insert(x.id);
  return ids;
}

// A job that its quota bars, though it is within its guarantee, is not in the line: it asks here too.
std::vector<JobId> askers(const State& s, const Quotas& quotas, const Line& line, const Pass& pass) {
  std::int32_t lowest = INT32_MAX;
  for (const Runner& r : line.running) lowest = std::min(lowest, s.jobs.at(r.id).spec.priority);
  const std::set<JobId> starts = started_in(pass);
  const bool guarantees = !s.policy.queues.empty();
  std::vector<JobId> out;
  for (const Ranked& r : line.order) {
    const Job& j = s.jobs.at(line.waiting[r.index].id);
    const bool patient = s.mono() - j.queued < s.policy.scheduling.preempt_after || j.promised_until > s.mono();
    const bool above = j.spec.priority > lowest && !patient;
    if (r.band == Band::paused || (!above && !guarantees)) continue;
    const bool entitled = quotas.within_guarantee(quotas.find(queue_of(j.spec)), ask_of(s, quotas, j.spec));
    if (starts.count(j.id) != 0 || !(above || entitled)) continue;
    out.push_back(j.id);
    if (out.size() == kAskers) return out;
  }
  if (!guarantees) return out;
  for (const auto& [order, id] : s.queue) {
    const Job& j = s.jobs.at(id);
    if (!ready(j)) continue;
    const QuotaVerdict v = quotas.may_start(quotas.find(queue_of(j.spec)), ask_of(s, quotas, j.spec));
    if (!v.ok && v.reclaim) out.push_back(id);
    if (out.size() == kAskers) break;
  }
  return out;
}

bool preempt(const State& s, ClusterView& view, const Quotas& quotas, const Line& line, const Pass& pass, Decisions& out) {
  const std::vector<JobId> who = askers(s, quotas, line, pass);
  if (who.empty()) return false;
  const std::vector<Gang> gangs = running_gangs(s, view, quotas, line);
  PreemptRules rules;
  rules.protected_s = s.policy.scheduling.preempt_protects.seconds();
  for (const JobId id : who) {
    const Job& j = s.jobs.at(id);
    PreemptAsk ask;
    ask.id = id;
    ask.queue = quotas.find(queue_of(j.spec));
    ask.priority = j.spec.priority;
    ask.shape = view.beside_upgrade(view.shape_of(j.spec), longest_run(s, j));
    ask.use = ask_of(s, quotas, j.spec);
    const Preemption p = choose_victims(view.tree(), view.layout(), gangs, ask, rules, &quotas);
    if (!p.found || p.victims.empty()) continue;
    const double work_ms = static_cast<double>(milli_gpus(s.site, j.spec)) * expected_run(s, j).seconds();
    const bool entitled = quotas.within_guarantee(ask.queue, ask.use);
    if (!entitled && static_cast<double>(p.loss_gpu_ms) > s.policy.scheduling.preempt_loss * work_ms) continue;
    for (const JobId v : p.victims) {
      Wanted w = stop(s, v, "queue/preempt",
                      fmt::format("makes room for job {} ({}); {:.2f} GPU-hours are lost: {}", render(id), printable(j.spec.name),
                                  static_cast<double>(p.loss_gpu_ms) / 3.6e6, p.why),
                      {"let it wait: its priority or its guarantee says it need not"});
      w.action.for_job = id;
      out.push_back(std::move(w));
    }
    return true;
  }
  return false;
}

bool pause(const State& s, ClusterView& view, const Line& line, const Pass& pass, Decisions& out) {
  PausePolicy policy;
  std::vector<Pausable> running;
  for (const Runner& r : line.running) {
    const Job& j = s.jobs.at(r.id);
    if (j.phase != JobPhase::running || j.spec.checkpoint_every_s <= 0) continue;
    if (stops_of(s, j.id) >= s.policy.scheduling.stops_per_day) continue;
    Pausable p;
    p.id = j.id;
    p.priority = j.spec.priority;
    p.ran_since = s.mono() - j.began;
    p.lost = s.now.utc - j.checkpointed;
    p.ran = j.ran + (p.ran_since - p.lost);
    p.paused_before = j.paused;
    p.gpus = static_cast<std::uint32_t>(static_cast<double>(milli_gpus(s.site, j.spec) + 999) * part_of(j) / 1000);
    p.where = r.where;
    p.milli = r.milli;
    running.push_back(p);
  }
  const std::set<JobId> starts = started_in(pass);
  std::vector<Ranked> rest;
  for (const Ranked& r : line.order) {
    if (starts.count(line.waiting[r.index].id) == 0) rest.push_back(r);
  }
  const std::size_t mark = view.tree().mark();
  const Pauses found = choose_pauses(view.tree(), line.waiting, rest, running, s.mono(), policy);
  view.tree().rollback(mark);
  for (const Pause& p : found.pauses) {
    Wanted w =
        stop(s, p.id, "queue/pause",
             fmt::format("steps aside for {} at a checkpoint, so that job {}, which is short, need not wait; {} of work is lost",
                         render_duration(p.length), render(p.for_job), render_duration(p.lost)),
             {"let the short one wait: it would wait longer than it runs"});
    w.action.pause = p.length;
    out.push_back(std::move(w));
  }
  return !found.pauses.empty();
}

// Gangs that have just made a checkpoint, moved together when that lets somebody start and is worth it. Only into what is free
// now: all of a plan's moves begin at once.
bool defrag(const State& s, ClusterView& view, const Quotas& quotas, const Line& line, const Pass& pass, Decisions& out) {
  // It looks at every gang with a fresh checkpoint, and what it finds now it finds in a few turns too.
  constexpr std::uint64_t kTurns = 8;
  if (pass.reservations.empty() || s.turn % kTurns != 0) return false;
  std::vector<Gang> gangs;
  for (const Runner& r : line.running) {
    const Job& j = s.jobs.at(r.id);
    const bool fresh = j.phase == JobPhase::running && s.now.utc - j.checkpointed <= kQueueBeat;
    if (!fresh || stops_of(s, r.id) >= s.policy.scheduling.stops_per_day) continue;
    gangs.push_back(gang_of(s, view, quotas, j));
    gangs.back().shape = view.beside_upgrade(gangs.back().shape, longest_run(s, j));
  }
  if (gangs.empty()) return false;
  std::vector<Waiting> waiting;
  for (const Reservation& r : pass.reservations) {
    const Waiter& w = line.waiting[r.index];
    Waiting x;
    x.id = w.id;
    x.shape = w.shape;
    x.milli_gpus = static_cast<std::uint64_t>(milli_gpus(s.site, s.jobs.at(w.id).spec));
    x.wait_s = r.at == kNever ? 1e9 : std::max(0.0, (r.at - s.mono()).seconds());
    x.run_s = w.expected.seconds();
    waiting.push_back(x);
  }
  DefragRules rules;
  rules.moves_max = 1;
  const auto plan = plan_defrag(view.tree(), view.layout(), gangs, waiting, rules);
  if (!plan || plan->gain_gpu_h - plan->cost_gpu_h < kWorthMoving_gpu_h) return false;
  for (const Move& m : plan->moves) {
    const Job& j = s.jobs.at(m.id);
    Wanted w = stop(s, m.id, "queue/defrag",
                    fmt::format("moves at its checkpoint so that job {} can start: {:.1f} GPU-hours gained, {:.1f} spent; {}",
                                render(plan->beneficiary), plan->gain_gpu_h, plan->cost_gpu_h, plan->why),
                    {"leave it: the waiting job would idle free nodes meanwhile"});
    w.action.verb = Verb::restart_job;
    w.action.attempt = j.attempt + 1;
    w.action.nodes = m.to.nodes;
    if (!j.slots.empty()) w.action.slots = m.to.slots;
    w.placement = placement_of(s.site, m.to, view.held_shape(j));
    out.push_back(std::move(w));
  }
  return true;
}

}  // namespace

void make_room(const State& s, ClusterView& view, const Quotas& quotas, const Line& line, const Pass& pass, Decisions& out) {
  if (under_way(s)) return;
  const Scheduling& p = s.policy.scheduling;
  if (p.preempt && preempt(s, view, quotas, line, pass, out)) return;
  if (p.pause && pause(s, view, line, pass, out)) return;
  if (p.defrag) defrag(s, view, quotas, line, pass, out);
}

}  // namespace muster::decide
