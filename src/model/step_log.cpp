#include "model/step_log.h"

namespace muster {

bool time_by_rate(StepLog& log, std::uint32_t batch) {
  bool any = false;
  for (const StepSample& s : log.steps) any = any || s.samples_per_s > 0;
  if (!any || batch == 0) return false;
  for (StepSample& s : log.steps) s.time_s = s.samples_per_s > 0 ? batch / s.samples_per_s : 0;
  log.clock = StepClock::rate;
  return true;
}

bool time_by_stamps(StepLog& log) {
  bool any = false;
  for (std::size_t i = 1; i < log.steps.size(); ++i) {
    StepSample& s = log.steps[i];
    const StepSample& before = log.steps[i - 1];
    if (s.time_s > 0 || s.step <= before.step || s.at_s <= before.at_s || before.at_s <= 0) continue;
    s.time_s = (s.at_s - before.at_s) / static_cast<double>(s.step - before.step);
    any = true;
  }
  if (any && log.clock == StepClock::none) log.clock = StepClock::stamps;
  return any;
}

}  // namespace muster
