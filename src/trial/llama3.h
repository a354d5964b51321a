// Llama 3's 54 days: one job on 16,384 GPUs under the published interruptions, run by the controller over many seeds, and held
// against the best that any controller could do with the same checkpoints and recovery time.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/policy.h"
#include "model/site.h"
#include "ports/journal.h"
#include "trial/llama3_course.h"

namespace muster::trial {

// A row of data/llama3_interruptions.csv.
struct PublishedCause {
  std::string component;
  std::uint32_t count = 0;  // in 54 days of 16,384 GPUs
  twin::FaultKind kind = twin::FaultKind::gpu_off_bus;
};
Result<std::vector<PublishedCause>> parse_published(std::string_view csv, std::string_view where);

constexpr double kPublishedDays = 54;
constexpr double kPublishedGpus = 16'384;

// People around the controller: they hold it back while they look into an interruption.
struct Crew {
  double handling_s = 0;     // after each failure of the job, before it is started again
  std::uint32_t severe = 0;  // interruptions of a run that need more than that ...
  double severe_h = 0;       // ... each so long
};

// Every duration that is assumed. docs/recovery/llama3.md lists them with their sources.
struct Llama3Setting {
  double stall_s = 1;      // steps stop for so long at each checkpoint
  double restart_s = 120;  // from the start of the job to its first step
  double step_s = 6;
  double checkpoint_gb = 5670;
  double checkpoint_every_s = 0;  // 0: by young_daly for the published rate, this stall and stated_recover_s
  double stated_recover_s = 180;  // fault to first new step, for the interval and the optimum that is promised
  std::uint32_t spares = 16;      // nodes beside the job's
  double report_every_s = 60;     // of every node
  bool gauges = false;  // loads and temperatures reported too: most of the work of a run, and nothing here depends on them
  Crew crew;
};

struct Llama3Options {
  Site site;  // the job's nodes; spares are added
  std::vector<PublishedCause> causes;
  Policy policy;
  Llama3Setting setting;
  double days = kPublishedDays;
  double weather = 1;  // times the published rates
  std::uint64_t first_seed = 1;
  std::uint64_t seeds = 30;
  unsigned threads = 1;
  std::function<std::unique_ptr<Journal>()> make_journal;  // safe to call from any thread
  std::function<void(double)> progress;                    // share done, from one thread at a time; may be empty
};

struct Mean {
  double mean = 0;
  double half_width = 0;  // of the 95 % interval (Student's t); 0 with one value
};
Mean mean_of(const std::vector<double>& values);

struct CauseShare {
  twin::FaultKind kind = twin::FaultKind::gpu_off_bus;
  std::uint64_t count = 0;
  double down_pct = 0;  // of the wall time
  double lost_pct = 0;
  double recover_mean_s = 0;
};

struct Llama3Report {
  Llama3Setting setting;
  double interval_s = 0;  // of checkpoints, whole steps
  double write_s = 0;     // of one, beside the steps
  double days = 0;
  std::uint64_t seeds = 0;
  double expected = 0;  // interruptions by the published rate
  Mean interruptions;   // in a run
  Mean effective_pct;   // useful steps' time of the wall time
  double useful_pct = 0, stall_pct = 0, lost_pct = 0, first_start_pct = 0;
  std::array<double, kParts> part_pct{};
  std::vector<CauseShare> causes;
  double recover_mean_s = 0, recover_p50_s = 0, recover_p99_s = 0, recover_max_s = 0;  // where a spare was there
  std::array<double, kParts> part_mean_s{};
  std::uint64_t without_spare = 0;  // interruptions
  std::uint64_t in_vain = 0;        // that took more than one start
  double recover_all_mean_s = 0;    // with those
  double optimum_pct = 0;           // for the stall and the measured mean recovery
  double optimum_stated_pct = 0;    // for the stall and stated_recover_s
  std::uint64_t jobs_lost = 0;      // given up
  std::uint64_t false_drains = 0;
  double cpu_s = 0;  // of a run, mean
  std::vector<std::string> violations;
};

Result<Llama3Report> bench_llama3(const Llama3Options& options);

}  // namespace muster::trial
