#include "decide/outlook.h"

#include <fmt/core.h>

#include "base/text.h"
#include "decide/waiting.h"

namespace muster::decide {
namespace {

std::string when(const State& s, Time mono) {
  const Duration in = mono - s.mono();
  if (in <= seconds(1)) return "now";
  return fmt::format("{} (in {})", render_utc(s.now.utc + in), render_duration(in));
}

std::vector<Forecast> forecasts_for(const State& s, ClusterView& view, double quantile) {
  const std::size_t mark = view.tree().mark();
  Line line = line_up(s, view, quotas_of(s), true, quantile);
  BackfillPolicy policy = backfill_policy(s);
  policy.always_reserve = true;
  const Pass pass = backfill(view.tree(), line.waiting, line.order, line.running, s.mono(), policy);
  std::vector<Forecast> out = forecast(view.tree(), line.waiting, line.order, line.running, pass, s.mono());
  // What would start at once, were it not held back or paused.
  std::vector<Forecast> now;
  for (const Start& x : pass.starts) {
    Forecast f;
    f.id = x.id;
    f.index = x.index;
    f.at = s.mono();
    now.push_back(std::move(f));
  }
  out.insert(out.begin(), now.begin(), now.end());
  view.tree().rollback(mark);
  return out;
}

std::string say(const State& s, const Forecast& f, std::size_t place) {
  std::string out;
  if (f.at == kNever) {
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
  const Shape shape = view.shape_of(j->spec);
  if (!view.tree().ever_fits(shape)) {
    return fmt::format("it asks for {} node{}{} and the cluster, empty, does not hold that: it can never start", j->spec.nodes,
                       j->spec.nodes == 1 ? "" : "s",
                       j->spec.gpus_per_node > 0 ? fmt::format(" with {} GPUs each", j->spec.gpus_per_node) : "");
  }
  std::string out;
  if (s.paused) out = fmt::format("Muster is paused by {}: nothing is started; otherwise ", s.paused_by);
  if (const std::string why = held_back(s, view, quotas_of(s), *j); !why.empty()) return out + why;
  const std::vector<Forecast> all = forecasts(s);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].id == job) return out + say(s, all[i], i + 1);
  }
  return out + "it is not among those looked at: the queue is longer than the bound of one pass";
}

}  // namespace muster::decide
