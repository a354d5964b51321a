// A search for plans as a whole, for programs, for people in a hurry and for those who would rather look: JSON, sentences, a
// chart.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "base/value.h"
#include "design/whole_run.h"
#include "report/bars.h"
#include "report/plan.h"

namespace muster::report {

// What the run is to be, beside fast.
struct RunWish {
  double tokens = 0;
  double price = 0;              // of a GPU-hour; 0: not told
  std::optional<Time> by;        // done
  std::optional<double> budget;  // USD
};

struct PlanReport {
  std::string model;
  std::string gpu;
  std::uint32_t gpus = 0;
  double hbm_gb = 0;           // of one; 0: not told
  double memory_limit_gb = 0;  // of that, what may be used
  std::vector<PlanRow> rows;   // the best first
  std::uint64_t candidates = 0, fit = 0;
  std::string basis;  // what the calibration is from
  RunWish wish;
  std::optional<design::WholeRun> run;  // of the best
  Time begin;                           // if it began now
  std::uint32_t enough = 0;             // GPUs that would be in time, where these are not; 0: none that were tried

  bool late() const;
  bool too_dear() const;
};

Value plan_value(const PlanReport& r);
// How long, how much, and whether that is in time and within the budget, with what would make it so.
std::vector<std::string> say_run(const PlanReport& r);
BarChart plan_bars(const PlanReport& r);

}  // namespace muster::report
