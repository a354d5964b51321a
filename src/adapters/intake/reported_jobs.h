// ReportedJobs: from what a job says of itself, by way of its node's agent, to what the controller may believe. Only a job that
// runs, on the node it is told from, and never backwards.
#pragma once
#include <map>
#include <optional>

#include "ingest/job_report.h"
#include "model/state.h"

namespace muster {

struct Believed {
  std::optional<JobProgressed> saved;  // a checkpoint that was not known
  std::optional<StepReport> step;      // without its time
};

class ReportedJobs {
 public:
  // Nothing: it is not believed. `age`: how long ago it was said.
  std::optional<Believed> take(const JobReport& r, JobId job, NodeId from, Duration age, const State& s);

 private:
  struct Told {
    std::uint32_t attempt = 0;
    Progress progress;             // with what is on its way into the state
    std::int64_t saved_step = -1;  // of the last checkpoint counted
    bool timed = false;            // and it was told how long that took
  };
  std::map<JobId, Told> told_;  // of jobs that run
};

}  // namespace muster
