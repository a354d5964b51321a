// muster replay jobs: a job trace through the scheduler.
#include "commands.h"
#include "say.h"

namespace muster::cmd {

int run_replay_jobs(const ReplayJobsOptions&) { return say_error({Code::internal, "not there yet", ""}); }

}  // namespace muster::cmd
