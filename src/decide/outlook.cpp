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

std::string say(const State& s, const Forecast& f, std::size_t place) {
  std::string out;
  if (f.at == kNever) {
    out = "no start is in sight with what is known now";
  } else {
    out = fmt::format("it is expected to start {}{}", when(s, f.at), f.reserved ? ", and holds a reservation for that" : "");
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

std::vector<Forecast> forecasts(const State& s) {
  if (s.nodes.empty()) return {};
  ClusterView view;
  view.update(s);
  const Quotas quotas = quotas_of(s);
  Line line = line_up(s, view, quotas, true);
  BackfillPolicy policy = backfill_policy(s);
  policy.always_reserve = true;
  const Pass pass = backfill(view.tree(), line.waiting, line.order, line.running, s.mono(), policy);
  std::vector<Forecast> out = forecast(view.tree(), line.waiting, line.order, line.running, pass, s.mono());
  // What would start at once, were it not held back or paused.
  for (const Start& x : pass.starts) {
    Forecast f;
    f.id = x.id;
    f.index = x.index;
    f.at = s.mono();
    out.insert(out.begin(), std::move(f));
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
