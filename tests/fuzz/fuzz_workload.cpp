// Workloads: what is accepted is in order of time, bounded, and every job can be run.
#include "check.h"
#include "ingest/workload_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto w = parse_workload(text, "w.yaml");
  if (!w) {
    fuzz::expect_file_error(w.error(), "w.yaml");
    return 0;
  }
  fuzz::expect(w->jobs.size() <= kWorkloadJobsMax && w->load > 0, "bounded");
  // An empty list of jobs and the mix "none" are clusters without work, on purpose.
  const bool said_so = text.find("none") != std::string_view::npos || text.find("jobs") != std::string_view::npos;
  fuzz::expect(!w->mix.empty() || !w->jobs.empty() || said_so, "there is something to do");
  Duration last;
  for (const TimedJob& j : w->jobs) {
    fuzz::expect(j.at >= last, "in order of time");
    last = j.at;
    fuzz::expect(j.spec.nodes >= 1 && j.spec.steps >= 1 && j.spec.step_s > 0 && j.spec.checkpoint_every_s >= 0, "can be run");
  }
  return 0;
}
