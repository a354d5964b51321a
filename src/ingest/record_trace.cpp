#include "ingest/record_trace.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string_view>
#include <tuple>

namespace muster {

RecordedTrace trace_of(std::span<const JobRecord> records) {
  RecordedTrace out;
  std::vector<TraceJob> jobs;
  std::vector<std::optional<Duration>> waits;
  std::set<std::tuple<std::string_view, std::string_view, std::int64_t, std::int64_t>> seen;  // a requeued run begins anew
  for (const JobRecord& r : records) {
    const std::int64_t milli = r.gpus_milli.value_or(0);
    if (!r.id.text.empty() && !seen.emplace(r.cluster, r.id.text, r.submitted.ns, r.started.ns).second) {
      ++out.repeated;
    } else if (milli <= 0) {
      ++out.trace.without_gpus;
    } else if (!is_over(r.state)) {
      ++out.unfinished;
    } else if (r.started.ns != 0 && r.ended.ns != 0 && r.ended < r.started) {
      ++out.sooner;
    } else if (r.started.ns == 0 || r.ended <= r.started || r.submitted.ns <= 0) {
      ++out.trace.without_run;
    } else {
      const Time ready = std::min(std::max(r.submitted, r.eligible), r.started);
      const auto gpus = static_cast<std::uint32_t>((milli + kGpuThousandths - 1) / kGpuThousandths);
      jobs.push_back({ready, r.ended - r.started, gpus, r.gpu_type});
      waits.emplace_back(r.started - ready);
    }
  }
  std::vector<std::size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return jobs[a].submitted < jobs[b].submitted; });
  for (const std::size_t i : order) {
    out.trace.jobs.push_back(std::move(jobs[i]));
    out.waits.push_back(waits[i]);
  }
  return out;
}

}  // namespace muster
