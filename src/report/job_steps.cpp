#include "report/job_steps.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/series.h"
#include "report/units.h"

namespace muster::report {
namespace {

constexpr std::size_t kSide = 3;   // stretches on each side of a change of level
constexpr double kWorth = 0.03;    // a change of the step time that is worth telling
constexpr double kExplains = 0.5;  // of what the values are off their median, the change must explain so much

// Two neighbours of the same attempt as one.
StepStretch joined(const StepStretch& a, const StepStretch& b) {
  StepStretch out = b;
  out.from = a.from;
  out.steps = a.steps + b.steps;
  out.step_s =
      (a.step_s * static_cast<double>(a.steps) + b.step_s * static_cast<double>(b.steps)) / static_cast<double>(out.steps);
  out.with_start = a.with_start || b.with_start;
  return out;
}

std::vector<StepStretch> stretches_of(std::span<const JobPoint> points) {
  std::vector<StepStretch> out;
  const JobPoint* last = nullptr;
  for (const JobPoint& p : points) {
    if (last == nullptr || p.begins || p.attempt != last->attempt) {
      last = &p;
      continue;
    }
    if (p.progress.steps <= last->progress.steps) continue;  // what stopped it counts in the next stretch
    const std::int64_t stopped =
        p.progress.checkpoint_ms - last->progress.checkpoint_ms + p.progress.init_ms - last->progress.init_ms;
    const double worked_s = (p.at - last->at).seconds() - static_cast<double>(stopped) / 1000;
    const std::uint64_t steps = p.progress.steps - last->progress.steps;
    if (worked_s > 0) {
      const bool with_start = last->begins && p.progress.init_ms == 0;
      out.push_back({last->at, p.at, p.attempt, p.progress.steps, steps, worked_s / static_cast<double>(steps), with_start});
    }
    last = &p;
  }
  return out;
}

void bound(std::vector<StepStretch>& all) {
  while (all.size() > kStretchesMax) {
    std::vector<StepStretch> fewer;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool pair = i + 1 < all.size() && all[i + 1].attempt == all[i].attempt && all[i].with_start == all[i + 1].with_start;
      fewer.push_back(pair ? joined(all[i], all[i + 1]) : all[i]);
      if (pair) ++i;
    }
    if (fewer.size() == all.size()) {  // an attempt each: the oldest go
      fewer.erase(fewer.begin(), fewer.end() - static_cast<std::ptrdiff_t>(kStretchesMax));
    }
    all = std::move(fewer);
  }
}

// The step time that `share` of all steps do not exceed.
double share_of(std::vector<StepStretch> sorted, double share, std::uint64_t steps) {
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.step_s < b.step_s; });
  std::uint64_t below = 0;
  for (const StepStretch& s : sorted) {
    below += s.steps;
    if (static_cast<double>(below) >= share * static_cast<double>(steps)) return s.step_s;
  }
  return sorted.empty() ? 0 : sorted.back().step_s;
}

std::optional<LevelChange> change_in(const std::vector<StepStretch>& of_attempt) {
  std::vector<double> values;
  for (const StepStretch& s : of_attempt) values.push_back(s.step_s);
  const auto split = split_levels(values, kSide);
  if (!split || split->before <= 0) return std::nullopt;
  const bool worth = std::abs(split->after / split->before - 1) >= kWorth;
  if (!worth || split->off > (1 - kExplains) * split->off_unsplit) return std::nullopt;
  return LevelChange{of_attempt[split->at].from, split->before, split->after};
}

// With everything that stops its steps, once it has begun.
double pace_of(std::span<const JobPoint> points) {
  const JobPoint* first = nullptr;
  for (const JobPoint& p : points) {
    if (first == nullptr || p.begins || p.attempt != first->attempt) first = &p;
  }
  if (first == nullptr || points.back().progress.steps <= first->progress.steps) return 0;
  const JobPoint& last = points.back();
  const double s = (last.at - first->at).seconds() - static_cast<double>(last.progress.init_ms - first->progress.init_ms) / 1000;
  return std::max(0.0, s / static_cast<double>(last.progress.steps - first->progress.steps));
}

}  // namespace

StepCourse study_course(std::span<const JobPoint> points) {
  StepCourse out;
  const std::vector<StepStretch> all = stretches_of(points);
  std::vector<StepStretch> counted;
  for (const StepStretch& s : all) {
    if (!s.with_start) counted.push_back(s);
  }
  for (const StepStretch& s : counted) out.steps += s.steps;
  if (!counted.empty()) {
    out.median_s = share_of(counted, 0.5, out.steps);
    out.p95_s = share_of(counted, 0.95, out.steps);
  }
  for (std::size_t end = counted.size(); end > 0 && !out.change;) {  // from the newest attempt back
    std::size_t begin = end;
    while (begin > 0 && counted[begin - 1].attempt == counted[end - 1].attempt) --begin;
    const std::vector<StepStretch> of_attempt(counted.begin() + static_cast<std::ptrdiff_t>(begin),
                                              counted.begin() + static_cast<std::ptrdiff_t>(end));
    if (of_attempt.size() >= 2 * kSide + 2) {
      out.change = change_in(of_attempt);
      break;
    }
    end = begin;
  }
  out.pace_s = points.empty() ? 0 : pace_of(points);
  out.stretches = all;
  bound(out.stretches);
  return out;
}

namespace {

void number_or_null(JsonWriter& w, std::string_view name, double value, bool known) {
  w.key(name);
  known ? w.value(value) : w.null();
}

}  // namespace

std::string job_steps_json(const StepCourse& c, const StepsWanted& wanted, Time from, Time to) {
  JsonWriter w;
  w.object().field("apiVersion", "v1").field("kind", "JobSteps").field("job", wanted.job);
  w.field("from_utc", render_utc(from)).field("to_utc", render_utc(to));
  number_or_null(w, "nominal_s", wanted.nominal_s, wanted.nominal_s > 0);
  w.field("steps", c.steps);
  number_or_null(w, "median_s", c.median_s, c.median_s > 0);
  number_or_null(w, "p95_s", c.p95_s, c.p95_s > 0);
  w.key("change");
  if (c.change) {
    w.object().field("at_utc", render_utc(c.change->at)).field("before_s", c.change->before_s);
    w.field("after_s", c.change->after_s).end_object();
  } else {
    w.null();
  }
  number_or_null(w, "pace_s", c.pace_s, c.pace_s > 0);
  const bool to_come = wanted.running && wanted.total > 0 && wanted.total >= wanted.reached && c.pace_s > 0;
  const double left_s = to_come ? static_cast<double>(wanted.total - wanted.reached) * c.pace_s : 0;
  number_or_null(w, "left_s", left_s, to_come);
  number_or_null(w, "left_gpu_h", left_s * wanted.gpus / 3600, to_come);
  w.key("points").array();
  for (const StepStretch& s : c.stretches) {
    w.array().value((s.from - from).ns / 1'000'000).value((s.to - from).ns / 1'000'000).value(s.attempt).value(s.step);
    w.value(s.steps).value(s.step_s).value(s.with_start).end_array();
  }
  w.end_array().field(
      "words",
      "The mean time of a step between two words of the engine on the job's progress (its checkpoints, mostly), without its "
      "start "
      "and without what checkpoints stopped. A gang steps together: this is every rank's step time, and no rank's own.");
  w.end_object();
  return w.take();
}

std::string say_job_steps(const Value& steps) {
  const auto median = number_of(steps, "median_s");
  if (!median || *median <= 0) return {};
  std::string out = fmt::format("steps take {:.4g} s (median), {:.4g} s or less in 95 of 100", *median,
                                number_of(steps, "p95_s").value_or(*median));
  if (const auto nominal = number_of(steps, "nominal_s")) out += fmt::format("; asked for: {:.4g} s", *nominal);
  const Value* change = steps.find("change");
  if (change != nullptr && change->object() != nullptr) {
    const double before = number_of(*change, "before_s").value_or(0), after = number_of(*change, "after_s").value_or(0);
    if (before > 0) {
      out += fmt::format("\nsince about {} they take {:.4g} s instead of {:.4g} s, {:.0f} % {}", text_of(*change, "at_utc"),
                         after, before, 100 * std::abs(after / before - 1), after > before ? "longer" : "less");
    }
  }
  return out;
}

}  // namespace muster::report
