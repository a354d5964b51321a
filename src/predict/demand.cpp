#include "predict/demand.h"

#include <algorithm>

namespace muster::predict {
namespace {

constexpr std::int64_t kDay_ns = days(1).ns;

std::size_t day_of(const DemandDays& d, Time t) { return static_cast<std::size_t>((t - d.first).ns / kDay_ns); }

}  // namespace

JobStretch last_stretch(std::span<const TraceJob> jobs) {
  JobStretch out{0, jobs.size()};
  std::size_t end = jobs.size();
  for (std::size_t i = jobs.size(); i-- > 0;) {
    if (i > 0 && jobs[i].submitted - jobs[i - 1].submitted <= kSilentMax) continue;
    if (10 * (end - i) >= jobs.size()) return {i, end};
    end = i;
  }
  return out;
}

Time day_start(const DemandDays& demand, std::size_t day) { return demand.first + days(static_cast<std::int64_t>(day)); }

DemandDays demand_days(std::span<const TraceJob> jobs) {
  DemandDays out;
  if (jobs.empty()) return out;
  Time last = jobs.front().submitted;
  Time first = last;
  for (const TraceJob& j : jobs) {
    first = std::min(first, j.submitted);
    last = std::max(last, j.submitted);
  }
  out.first = Time{first.ns - first.ns % kDay_ns};
  const std::size_t n = day_of(out, last);  // the last day is not whole
  out.gpu_hours.resize(n);
  out.jobs.resize(n);
  for (const TraceJob& j : jobs) {
    const std::size_t came = day_of(out, j.submitted);
    if (came < n) ++out.jobs[came];
    Time at = j.submitted;
    const Time end = at + j.run;
    for (std::size_t d = came; d < n && at < end; ++d) {
      const Time until = std::min(end, day_start(out, d + 1));
      out.gpu_hours[d] += (until - at).seconds() / 3600 * j.gpus;
      at = until;
    }
  }
  return out;
}

}  // namespace muster::predict
