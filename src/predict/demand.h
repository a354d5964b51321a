// A job trace as days: the GPU-hours that each day would have held, had every job begun when it came. That is demand; what ran is
// that, cut to the cluster.
#pragma once
#include <span>
#include <vector>

#include "model/job_trace.h"

namespace muster::predict {

struct DemandDays {
  Time first;                       // when the first day begins: midnight, UTC
  std::vector<double> gpu_hours;    // of each whole day up to the last submission
  std::vector<std::uint64_t> jobs;  // that came on it
};

DemandDays demand_days(std::span<const TraceJob> jobs);

// Of jobs in order of submission: the last stretch without four weeks in which nothing came that has a tenth of the jobs or more;
// [first, last). What lies beyond such a gap is a wrong date (1970, 2106) or another site's life, and forecasts of years of
// nothing are worth nothing.
constexpr Duration kSilentMax = days(28);
struct JobStretch {
  std::size_t first = 0, last = 0;
};
JobStretch last_stretch(std::span<const TraceJob> jobs);

// When the day of this number begins; the first day after the history is number gpu_hours.size().
Time day_start(const DemandDays& demand, std::size_t day);

}  // namespace muster::predict
