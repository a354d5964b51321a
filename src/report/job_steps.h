// How long a job's steps took over its life, from what its engine said of its progress: between two words of it, the time that
// passed less what went into starting and into checkpoints, over the steps made.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/value.h"
#include "report/job_history.h"

namespace muster::report {

struct StepStretch {
  Time from, to;  // utc
  std::uint32_t attempt = 0;
  std::uint64_t step = 0;   // reached at its end
  std::uint64_t steps = 0;  // made in it
  double step_s = 0;        // mean
  bool with_start = false;  // how long the start took was not told: it is in the mean, which counts for nothing
};

struct LevelChange {
  Time at;  // utc
  double before_s = 0, after_s = 0;
};

struct StepCourse {
  std::vector<StepStretch> stretches;  // in their order, at most kStretchesMax
  std::uint64_t steps = 0;             // that the figures are of
  double median_s = 0, p95_s = 0;      // over steps, each with the mean of its stretch; 0: none known
  std::optional<LevelChange> change;   // in the newest attempt that has enough
  double pace_s = 0;                   // of a step of the newest attempt with all that stops it, from its first on; 0: not known
};
constexpr std::size_t kStretchesMax = 500;

StepCourse study_course(std::span<const JobPoint> points);

// What a job still has to do, and what it asked for.
struct StepsWanted {
  std::string job;
  double nominal_s = 0;     // by its owner's word; 0: not said
  std::uint64_t total = 0;  // steps; 0: not said
  std::uint64_t reached = 0;
  double gpus = 0;
  bool running = false;
};
// Times in `points` are milliseconds after from_utc: [from, to, attempt, step, steps, step_s, with_start].
std::string job_steps_json(const StepCourse& course, const StepsWanted& wanted, Time from, Time to);
// One or two lines for a terminal, of the JSON above; empty where nothing is known.
std::string say_job_steps(const Value& steps);

}  // namespace muster::report
