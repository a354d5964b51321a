#include "decide/pace/pace.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "decide/pace/advice.h"

namespace muster::decide {
namespace {

constexpr double kLeastPeriod_s = 60;
constexpr double kMostPeriod_s = 60 * 1024;  // 17 hours
constexpr double kFirstPeriod_s = 1800;      // of a job that says nothing of its own
constexpr double kGuess_s = 30;              // to write one, where none was measured
constexpr double kKeep = 1.6;                // a period that is off by less is left alone: the useful share is flat there
constexpr std::size_t kWritersMax = 4096;    // moments of others in one period that are looked at

double wrap(double x, double period) {
  const double turns = static_cast<double>(static_cast<std::int64_t>(x / period));
  double rest = x - turns * period;
  if (rest < 0) rest += period;
  return rest < period ? rest : 0;
}

struct Mark {
  double at_s;  // within the period, from 0
  double write_s;
  bool operator<(const Mark& o) const { return at_s < o.at_s; }
};

// The others' writes as one period after `from_s` sees them. One with a longer period comes by only now and then, and its moment
// is kept free all the same.
std::vector<Mark> marks_of(const std::vector<Writer>& others, double every_s, double from_s) {
  std::vector<Mark> out;
  for (const Writer& w : others) {
    if (w.every_s <= 0) continue;
    const double step = std::min(w.every_s, every_s);
    for (double at = wrap(w.at_s - from_s, step); at < every_s && out.size() < kWritersMax; at += step)
      out.push_back({at, w.write_s});
  }
  std::sort(out.begin(), out.end());
  return out;
}

bool can_be_paced(const Job* j) { return j != nullptr && j->spec.paced && j->phase == JobPhase::running; }

// Jobs that have just started or written a checkpoint, and can be paced.
std::set<JobId> due(const State& s) {
  std::set<JobId> out;
  for (const JobId id : s.checkpointed) {
    if (can_be_paced(find_job(s, id))) out.insert(id);
  }
  for (const NodeId n : s.dirty_nodes) {
    for (const Share& x : s.nodes[n.v].shares) {
      const Job* j = find_job(s, x.job);
      if (can_be_paced(j) && j->paced_every.ns == 0) out.insert(x.job);
    }
  }
  return out;
}

// What every paced job does, as far as it was told or is about to be.
std::map<JobId, Writer> writers(const State& s) {
  std::map<JobId, Writer> out;
  for (const JobId id : s.placed) {
    const Job* j = find_job(s, id);
    if (!can_be_paced(j) || j->paced_every.ns <= 0) continue;
    out[id] = {j->paced_every.seconds(), (j->paced_next - s.now.utc).seconds(), store_s(*j)};
  }
  for (const std::string& key : s.open_orders) {
    const Action& a = s.orders.at(key).order.action;
    const Job* j = a.verb == Verb::pace_job ? find_job(s, a.job) : nullptr;
    if (can_be_paced(j)) out[a.job] = {a.every.seconds(), (a.next - s.now.utc).seconds(), store_s(*j)};
  }
  return out;
}

std::set<JobId> being_told(const State& s) {
  std::set<JobId> out;
  for (const std::string& key : s.open_orders) {
    const Action& a = s.orders.at(key).order.action;
    if (a.verb == Verb::pace_job) out.insert(a.job);
  }
  return out;
}

std::vector<Writer> without(const std::map<JobId, Writer>& all, JobId id) {
  std::vector<Writer> out;
  for (const auto& [other, w] : all) {
    if (other != id) out.push_back(w);
  }
  return out;
}

// The period it should have: as it is while that is near enough.
double wanted_period(const State& s, const Job& j, const FailureRate& rate) {
  const double now_s = j.paced_every.seconds();
  const auto view = checkpoint_view(s, j, rate);
  // A mean of few checkpoints is no reason to change what holds, and before the first there is only the owner's word.
  const double best_s = view ? std::clamp(view->advised_s + view->stall_s, kLeastPeriod_s, kMostPeriod_s)
                        : j.spec.checkpoint_every_s > 0 ? j.spec.checkpoint_every_s
                                                        : kFirstPeriod_s;
  if (now_s > 0 && (!view || (best_s < now_s * kKeep && best_s > now_s / kKeep))) return now_s;
  return period_near(best_s);
}

Wanted tell(const State& s, const Job& j, double every_s, const Slot& slot, const FailureRate& rate, std::size_t others) {
  Wanted w;
  w.action.verb = Verb::pace_job;
  w.action.job = j.id;
  w.action.attempt = j.attempt;
  w.action.every = from_seconds(every_s);
  w.action.next = s.now.utc + from_seconds(slot.at_s);
  w.reason.rule = j.paced_every.ns > 0 ? "pace/again" : "pace/first";
  w.reason.actor = "muster";
  const auto view = checkpoint_view(s, j, rate);
  const std::string why =
      view ? fmt::format("one stops it for {:.1f} s, and a gang of {} nodes is interrupted every {}", view->stall_s, j.spec.nodes,
                         render_duration(from_seconds(std::min(3600 / view->failures_per_h, 1e9))))
           : std::string("none has been measured yet");
  w.reason.sentence =
      fmt::format("job {} is to write a checkpoint every {} ({}); the next in {}, {} other paced job{} {}", render(j.id),
                  render_duration(w.action.every), why, render_duration(from_seconds(slot.at_s)), others, others == 1 ? "" : "s",
                  slot.free_s < 0 ? "crowd the store: they meet as little as they can" : "are not at the store then");
  w.reason.alternatives = {"leave it to the job: writers that meet wait for each other at the store"};
  return w;
}

}  // namespace

double store_s(const Job& j) {
  const Progress& p = j.progress;
  if (p.checkpoints == 0) return kGuess_s;
  const double stall_s = static_cast<double>(p.checkpoint_ms) / 1000 / p.checkpoints;
  if (j.paced_every.ns <= 0 || j.checkpointed <= j.paced_next) return stall_s > 0 ? stall_s : kGuess_s;
  // From the moment it was to begin until it was safe: with what is written beside the steps. One that was late, or whose clock
  // was set, says nothing.
  const double every_s = j.paced_every.seconds();
  const double took_s = wrap((j.checkpointed - j.paced_next).seconds(), every_s);
  return std::max(stall_s, took_s < every_s / 2 ? took_s : 0);
}

double period_near(double every_s) {
  double p = kLeastPeriod_s;
  while (p < kMostPeriod_s && every_s * every_s > 2 * p * p) p *= 2;  // the nearest in ratio
  return p;
}

Slot widest_slot(const std::vector<Writer>& others, double every_s, double write_s, double from_s) {
  const std::vector<Mark> marks = marks_of(others, every_s, from_s);
  if (marks.empty()) return {from_s + every_s / 2, every_s - write_s};
  Slot best{from_s, -1e300};
  for (std::size_t i = 0; i < marks.size(); ++i) {
    const Mark& a = marks[i];
    const double next = i + 1 < marks.size() ? marks[i + 1].at_s : marks.front().at_s + every_s;
    const double gap = next - a.at_s;
    const double free = gap - a.write_s - write_s;
    if (free <= best.free_s) continue;
    const double both = a.write_s + write_s;
    // In the middle of what is free; where nothing is, each has its share of the gap.
    const double at = free >= 0 || both <= 0 ? a.at_s + a.write_s + free / 2 : a.at_s + gap * a.write_s / both;
    best = {from_s + wrap(at, every_s), free};
  }
  return best;
}

double overlap(const std::vector<Writer>& others, const Writer& w) {
  double sum = 0;
  for (const Mark& m : marks_of(others, w.every_s, w.at_s)) {
    sum += std::max(0.0, w.write_s - m.at_s);              // it begins while this one writes
    sum += std::max(0.0, m.at_s + m.write_s - w.every_s);  // it still writes when this one begins again
  }
  return sum;
}

bool pace_due(const State& s) {
  return std::any_of(s.checkpointed.begin(), s.checkpointed.end(), [&](JobId id) { return can_be_paced(find_job(s, id)); });
}

void decide_pace(const State& s, Decisions& out) {
  if (s.idle()) return;
  const std::set<JobId> asked = due(s);
  if (asked.empty()) return;
  const FailureRate rate = failure_rate(s);
  std::map<JobId, Writer> all = writers(s);
  const std::set<JobId> told = being_told(s);
  for (const JobId id : asked) {
    const Job& j = s.jobs.at(id);
    if (told.count(id) != 0) continue;
    const double every_s = wanted_period(s, j, rate);
    const double write_s = store_s(j);
    const std::vector<Writer> others = without(all, id);
    // Not before half a period: what it would save was saved a moment ago.
    const Slot slot = widest_slot(others, every_s, write_s, every_s / 2);
    const auto mine = all.find(id);
    if (mine != all.end() && mine->second.every_s == every_s) {
      const bool crowded = overlap(others, mine->second) > 0 && slot.free_s >= 0;
      if (!crowded) continue;
    }
    all[id] = {every_s, slot.at_s, write_s};
    out.push_back(tell(s, j, every_s, slot, rate, others.size()));
  }
}

}  // namespace muster::decide
