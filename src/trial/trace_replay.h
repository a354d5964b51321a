// A recorded job trace run through a scheduling policy on a cluster of a given size: who waits how long, how full the cluster is.
// On GPU counts alone, or on the placement tree: of a given cluster, or of nodes of 8 GPUs and leaves of 32 nodes. `muster` runs
// the very rank, backfill and pause code of the controller.
//
// What is assumed, and the same for every policy:
//   - run-time estimates are the true run time times a log-normal error; jobs run their true time, estimates never stop one;
//   - a running job that outlives its estimate is expected to end as decide::expected_end says;
//   - a job's wait is all the time from submission to its end in which it did not do useful work: queueing, pauses, restarts,
//     work done again. `las` and `muster` may pause jobs: coming back costs kRestart, and what was done since the last checkpoint
//     (one each kCheckpoint of run time, and for `las` one at each pause) is done again.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "model/job_trace.h"
#include "model/site.h"

namespace muster::trial {

constexpr std::uint32_t kReplayNodeGpus = 8;
constexpr std::uint32_t kReplayLeafNodes = 32;
constexpr std::uint32_t kReplayPodLeaves = 16;
constexpr Duration kCheckpoint = hours(1);
constexpr Duration kRestart = minutes(2);
constexpr Duration kNodeRepair = hours(4);
// Llama 3 report (arXiv 2407.21783): 419 unexpected interruptions in 54 days on 16,384 GPUs.
constexpr double kFailuresPerGpuHour = 419.0 / (54 * 24 * 16384.0);
constexpr double kSlowerPerLeaf = 0.1;  // --slow-far: run time grows by this for each leaf beyond the fewest

enum class ReplayPolicy : std::uint8_t { fifo, easy, sjf, las, muster };

struct ReplaySpec {
  ReplayPolicy policy = ReplayPolicy::muster;
  std::uint32_t gpus = 800;  // of the site, where there is one
  Site site;                 // no nodes: a plain cluster of `gpus`
  std::uint64_t seed = 1;
  double sigma = 1;
  bool topology = true;              // las: always counts
  bool pauses = true;                // muster: whether long jobs step aside, as with `scheduling: pause: true` of a policy
  bool slow_far = false;             // topology only
  double failures_per_gpu_hour = 0;  // topology only
  // On the tree, the replay ends at `stop`, or once more jobs than `give_up` wait (0: never): what runs then ends in its time;
  // what waits, and what was still to come, has ended = kNever.
  Time stop = kNever;
  std::uint32_t give_up = 0;
};

struct JobOutcome {
  std::uint32_t index = 0;  // into the trace
  std::uint32_t gpus = 0;
  Time submitted;
  Duration run;  // true run time
  Time ended;    // kNever: it was not followed so far
  std::uint32_t pauses = 0;
  std::uint32_t failures = 0;

  double wait_s() const;
  // (wait + run) / max(run, 10 s), at least 1.
  double slowdown() const;
};

struct ReplaySample {
  double queued = 0;  // mean over the step
  double used_gpus = 0;
};

struct Replay {
  std::vector<JobOutcome> jobs;  // in order of submission
  std::uint64_t too_large = 0;   // left out: more GPUs than the cluster has, or than it has of the model asked for
  Time began;
  Time ended;
  Duration step;  // of the series
  std::vector<ReplaySample> series;
  std::uint64_t pauses = 0;
  std::uint64_t failures = 0;  // of nodes
  bool given_up = false;
  double lost_gpu_s = 0;       // work done again, and restarts
  double useful_gpu_s = 0;
  std::uint64_t leaves = 0;      // used, over all starts
  std::uint64_t leaves_min = 0;  // fewest that would have held them on an empty cluster; 0: counts only

  double utilisation(std::uint32_t gpus) const;
};

// `told` hears how far it is, 0 to 1; may be empty.
Replay replay_jobs(std::span<const TraceJob> trace, const ReplaySpec& spec, const std::function<void(double)>& told = {});

}  // namespace muster::trial
