// A cooling fault in one row of a full cluster, once with the controller blind to heat and once aware of it.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "model/policy.h"
#include "model/site.h"
#include "ports/journal.h"

namespace muster::trial {

struct HeatBenchOptions {
  Site site;  // with rows
  Policy policy;
  std::uint64_t seed = 1;
  double calm_h = 2;  // before the fault
  double length_h = 14;
  std::function<std::unique_ptr<Journal>()> make_journal;
  std::function<void(double)> progress;  // share done; may be empty
};

struct HeatOutcome {
  double throttled_gpu_h = 0;
  double useful_gpu_h = 0;
  double hottest_inlet_c = 0;  // as the controller measured it while the row was hot
  double warned_min = 0;       // from the fault to the finding; 0: none
  std::uint32_t least_limit_pct = 100;
  std::uint64_t limits = 0;  // orders
  std::uint64_t jobs_completed = 0;
  bool lifted = true;  // no limit is left at the end
};

struct HeatReport {
  std::uint64_t seed = 0;
  std::uint32_t gpus = 0;
  std::uint32_t row_gpus = 0;
  double capacity_left = 0;  // share of the row's cooling
  double fault_h = 0;
  HeatOutcome blind, aware;
  double throttled_less_pct = 0;
  double useful_ratio = 0;
};

Result<HeatReport> bench_heat(const HeatBenchOptions& options);

}  // namespace muster::trial
