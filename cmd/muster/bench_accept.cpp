// muster bench accept: acceptance on simulated fleets with planted faults: false failures, what is found, and which policy pays.
#include "commands.h"
#include "progress.h"
#include "say.h"
#include "trial/accept_trial_view.h"

namespace muster::cmd {

int run_bench_accept(const BenchAcceptOptions& o) {
  trial::AcceptTrialOptions trial;
  trial.gpus = o.gpus;
  trial.runs = o.runs;
  trial.planted = o.planted;
  trial.seed = o.seed;
  trial::AcceptTrial told;
  {
    Progress progress("testing", static_cast<ProgressMode>(o.progress));
    trial.progress = [&](double done) { progress.update(done); };
    told = trial::try_acceptance(trial);
  }
  put(o.format == AcceptFormat::json ? trial::accept_trial_json(told) : trial::render_accept_trial(told));
  return finish_output();
}

}  // namespace muster::cmd
