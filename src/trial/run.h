// One simulated history under the controller, and what came of it.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "control/loop.h"
#include "model/gpu_hours.h"
#include "trial/checker.h"
#include "trial/score.h"
#include "trial/waits.h"
#include "twin/twin.h"

namespace muster::trial {

struct RunOptions {
  twin::Config twin;
  Policy policy;                  // what the controller is told
  Policy must_hold;               // what the checker holds it to; normally the same
  Duration length = days(7);
  bool snapshots = false;         // into the journal, for whoever opens it later
  bool to_the_end = false;        // then no more weather and work, until every fault is over
  std::function<void(double)> progress;  // share done, 0 to 1
  std::function<bool()> stopped;         // asked now and then; true ends the run with Code::conflict
};

struct RunReport {
  std::uint64_t seed = 0;
  std::uint32_t gpus = 0;
  std::uint32_t nodes = 0;
  double days = 0;
  double weather = 1;
  std::uint64_t events = 0;   // journaled
  std::uint64_t samples = 0;
  std::uint64_t turns = 0;
  std::string digest;
  GpuHours hours;
  double goodput = 0;
  double node_days = 0;  // simulated, the time after the weather calmed included
  double allocated_share = 0;
  Totals totals;  // of this history: of a fork, since it began
  std::uint64_t jobs_lost = 0;  // jobs that Muster gave up, or that vanished; not those that ran into their time limit
  Marks marks;
  std::vector<std::string> violations;  // the first ones of the checker, and what the end shows
  RuleCounts broken{};                  // all of them
  Waited waited;
  bool rules_checked = true;  // false in a fork, where the checker does not know what came before: only the sums are looked at
};

Result<RunReport> run(const RunOptions& options, Journal& journal);
// Goes on from `books` in a twin made from them.
Result<RunReport> run_fork(const RunOptions& options, Journal& journal, control::Books books);

}  // namespace muster::trial
