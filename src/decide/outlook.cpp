#include "decide/outlook.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "decide/never.h"
#include "decide/waiting.h"

namespace muster::decide {
namespace {

std::string when(const State& s, Time mono) {
  const Duration in = mono - s.mono();
  if (in <= seconds(1)) return "now";
  return fmt::format("{} (in {})", render_utc(s.now.utc + in), render_duration(in));
}

// What a smaller wish of the job would be, as its quota sees it.
JobSpec with(JobSpec spec, const Sooner& x) {
  if (x.remedy == Remedy::fewer_gpus) (spec.nodes > 1 ? spec.nodes : spec.gpus_per_node) = static_cast<std::uint32_t>(x.value);
  if (x.remedy == Remedy::any_model) spec.gpu_model.clear();
  return spec;
}

// Placement knows nothing of quotas: what fits on the tree is a remedy only if the job's queue may have it now.
void within_quota(const State& s, const Quotas& left, Forecast& f) {
  const JobSpec& spec = s.jobs.at(f.id).spec;
  const QueueIndex q = left.find(queue_of(spec));
  const auto allowed = [&](const Sooner& x) { return left.allows(q, ask_of(s, left, with(spec, x))); };
  for (Sooner& x : f.sooner) {
    if (x.remedy != Remedy::fewer_gpus || allowed(x)) continue;
    const double step = spec.nodes > 1 && spec.segment > 1 ? spec.segment : 1;
    while (x.value >= step && !allowed(x)) x.value -= step;
    if (x.value < 1) x.remedy = Remedy::nothing;
    const bool whole = spec.gpus_per_node == 0 && spec.nodes > 1;
    x.words = fmt::format("fits now with {:.0f} {} instead of {}", x.value,
                          whole            ? "nodes"
                          : spec.nodes > 1 ? "pieces"
                                           : "GPUs",
                          spec.nodes > 1           ? spec.nodes
                          : spec.gpus_per_node > 0 ? spec.gpus_per_node
                                                   : s.site.gpus_per_node);
  }
  std::erase_if(f.sooner, [&](const Sooner& x) { return x.remedy == Remedy::nothing || !allowed(x); });
}

// The soonest that what holds it back may end, by the runs expected of others, mono; kNever: not known.
Time free_at(const State& s, Quotas quotas, const Job& j) {
  Time at = kNever;
  for (const JobId id : j.waits_for) {
    const Job* before = find_job(s, id);
    if (before == nullptr) continue;
    const Time ends = expected_end_of(s, *before);
    at = at == kNever ? ends : std::max(at, ends);
  }
  if (!j.waits_for.empty()) return at;
  const QueueIndex q = quotas.find(queue_of(j.spec));
  const Amounts ask = ask_of(s, quotas, j.spec);
  if (may_hope(s, quotas, q, ask)) return kNever;
  std::vector<std::pair<Time, JobId>> ends;
  for (const JobId id : s.placed) ends.emplace_back(expected_end_of(s, s.jobs.at(id)), id);
  std::sort(ends.begin(), ends.end());
  for (const auto& [end, id] : ends) {
    const JobSpec& spec = s.jobs.at(id).spec;
    quotas.give(quotas.find(queue_of(spec)), ask_of(s, quotas, spec));
    if (may_hope(s, quotas, q, ask)) return end;
  }
  return kNever;
}

std::string why_held(const State& s, const ClusterView& view, const Quotas& quotas, const Job& j) {
  std::string why = held_back(s, view, quotas, j);
  if (why.empty() || j.hopeless || !j.spec.barred.empty() || !why_never(s, quotas, j.spec).empty()) return why;
  const Time at = free_at(s, quotas, j);
  if (at != kNever && at - s.mono() > seconds(1)) why += fmt::format("; not before {}, by what is known now", when(s, at));
  return why;
}

std::vector<Forecast> forecasts_for(const State& s, ClusterView& view, double quantile) {
  const std::size_t mark = view.tree().mark();
  Quotas left = quotas_of(s);
  Line line = line_up(s, view, left, quantile);
  BackfillPolicy policy = backfill_policy(s);
  policy.always_reserve = true;
  const Pass pass = backfill(view.tree(), line.waiting, line.order, line.running, s.mono(), policy);
  std::vector<Forecast> out = forecast(view.tree(), line.waiting, line.order, line.running, pass, s.mono());
  // What starts at once, were Muster not paused: as far as the queues' quotas go, which the pass knows nothing of.
  std::vector<Forecast> now;
  for (const Start& x : pass.starts) {
    Forecast f;
    f.id = x.id;
    f.index = x.index;
    const JobSpec& spec = s.jobs.at(x.id).spec;
    const QueueIndex q = left.find(queue_of(spec));
    const Amounts ask = ask_of(s, left, spec);
    if (const QuotaVerdict verdict = left.may_start(q, ask); verdict.ok) {
      f.at = s.mono();
      left.take(q, ask);
    } else {
      f.held = "once those before it have started: " + verdict.why;
    }
    now.push_back(std::move(f));
  }
  std::erase_if(out, [&](const Forecast& f) { return !why_never(s, left, s.jobs.at(f.id).spec).empty(); });
  for (Forecast& f : out) within_quota(s, left, f);
  out.insert(out.begin(), now.begin(), now.end());
  view.tree().rollback(mark);
  return out;
}

std::string say(const State& s, const Forecast& f, std::size_t place) {
  std::string out;
  if (!f.held.empty()) {
    out = "it does not start now: " + f.held;
  } else if (f.at == kNever) {
    out = "no start is in sight with what is known now";
  } else {
    out = fmt::format("it is expected to start {}{}", when(s, f.at), f.reserved ? ", and holds a reservation for that" : "");
    if (std::string late = if_late(s, f); !late.empty()) out += "; " + late;
  }
  out += fmt::format("; it is number {} in the order", place);
  if (!f.after.empty()) {
    std::vector<std::string> jobs;
    for (const JobId id : f.after) {
      if (jobs.size() == 4) break;
      jobs.push_back(render(id));
    }
    out += fmt::format("; it waits for the GPUs of job{} {}{}", f.after.size() == 1 ? "" : "s", join(jobs, ", "),
                       f.after.size() > jobs.size() ? " and others" : "");
  }
  for (const Sooner& x : f.sooner) {
    if (!x.words.empty()) out += "; sooner: " + x.words;
  }
  return out;
}

}  // namespace

std::string if_late(const State& s, const Forecast& f) {
  if (f.at == kNever || f.late - f.at <= minutes(1)) return {};
  if (f.late == kNever) return "if what runs takes long, not within two weeks";
  return fmt::format("if what runs takes long, {}", when(s, f.late));
}

std::vector<Forecast> forecasts(const State& s) {
  if (s.nodes.empty()) return {};
  ClusterView view;
  view.update(s);
  std::vector<Forecast> out = forecasts_for(s, view, kMedianRun);
  std::map<JobId, Time> late;
  for (const Forecast& f : forecasts_for(s, view, kLongRun)) late[f.id] = f.at;
  for (Forecast& f : out) {
    const auto it = late.find(f.id);
    f.late = it == late.end() || f.at == kNever ? f.at : std::max(f.at, it->second);
  }
  return out;
}

std::optional<Time> expected_start(const State& s, JobId job) {
  const Job* j = find_job(s, job);
  if (j == nullptr || j->phase != JobPhase::queued) return std::nullopt;
  for (const Forecast& f : forecasts(s)) {
    if (f.id == job) return f.at;
  }
  return std::nullopt;
}

std::string why_late(const State& s, const Job& j, std::optional<Time> starts) {
  if (j.spec.deadline.ns == 0) return {};
  const std::string by = render_utc(j.spec.deadline);
  if (j.phase == JobPhase::completed) {
    if (j.ended <= j.spec.deadline) return {};
    return fmt::format("its deadline of {} was missed by {}", by, render_duration(j.ended - j.spec.deadline));
  }
  if (ended(j.phase)) return {};
  if (s.now.utc > j.spec.deadline)
    return fmt::format("its deadline of {} was missed: that was {} ago", by, render_duration(s.now.utc - j.spec.deadline));
  const bool runs = j.phase == JobPhase::running;
  if (const Time end = expected_end_of(s, j); s.now.utc + (end - s.mono()) > j.spec.deadline) {
    return fmt::format("its deadline of {} {}: it is expected to take {} more, and {} are left", by,
                       runs ? "will be missed" : "can no longer be met, even if it started now", render_duration(end - s.mono()),
                       render_duration(j.spec.deadline - s.now.utc));
  }
  if (runs || !starts || *starts == kNever) return {};
  if (s.now.utc + (*starts - s.mono()) + expected_run(s, j) <= j.spec.deadline) return {};
  return fmt::format("its deadline of {} will be missed if it starts no sooner than expected", by);
}

std::string why_not_started(const State& s, JobId job) {
  const Job* j = find_job(s, job);
  if (j == nullptr || j->phase != JobPhase::queued) return {};
  ClusterView view;
  view.update(s);
  const Quotas quotas = quotas_of(s);
  const Shape shape = view.shape_of(j->spec);
  if (std::string why = why_never(s, quotas, j->spec); !why.empty()) return why;
  if (!view.tree().ever_fits(shape)) {
    return fmt::format("it asks for {} node{}{} and the cluster, empty, does not hold that: it can never start", j->spec.nodes,
                       j->spec.nodes == 1 ? "" : "s",
                       j->spec.gpus_per_node > 0 ? fmt::format(" with {} GPUs each", j->spec.gpus_per_node) : "");
  }
  std::string out;
  if (s.paused) out = fmt::format("Muster is paused by {}: nothing is started; otherwise ", s.paused_by);
  if (const std::string why = why_held(s, view, quotas, *j); !why.empty()) return out + why;
  const std::vector<Forecast> all = forecasts(s);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].id != job) continue;
    out += say(s, all[i], i + 1);
    if (const std::uint32_t closed = view.closed_by_power(); closed > 0 && all[i].at > s.mono()) {
      out += fmt::format("; {} node{} free, and {} keeps {} closed", closed, closed == 1 ? " is" : "s are",
                         say_power_caps(s.site), closed == 1 ? "it" : "them");
    }
    return out;
  }
  return out + "it is not among those looked at: the queue is longer than the bound of one pass";
}

}  // namespace muster::decide
