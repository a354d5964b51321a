// A rolling upgrade of a busy twin, beside the same days without it: whether it comes to its end in time, what it costs, and
// whether a version that does harm is stopped.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/gpu_hours.h"
#include "ports/journal.h"
#include "twin/twin.h"

namespace muster::trial {

struct UpgradeTrialOptions {
  twin::Config twin;  // its seed is replaced by each of ...
  std::uint64_t first_seed = 1;
  std::uint64_t seeds = 5;
  Policy policy;
  UpgradeSpec spec;
  Duration warm_up = hours(8);  // until the cluster is as busy as it gets
  Duration most = hours(36);    // then the upgrade is given up on
  bool beside = true;           // the same hours without it too
  unsigned threads = 1;
  std::function<std::unique_ptr<Journal>()> make_journal;  // safe to call from any thread
  std::function<void(double)> progress;                    // share done, 0 to 1; one thread at a time
};

struct UpgradeRun {
  std::uint64_t seed = 0;
  UpgradePhase phase = UpgradePhase::none;  // in which it ended
  std::string why;
  double took_h = 0;
  double useful_h = 0;          // GPU-hours while it was at work
  double useful_without_h = 0;  // in the same hours of the same seed without it
  double loss_pct = 0;
  double allocated_pct = 0;   // GPUs with a job in these hours, of those in service without it
  std::uint32_t nodes = 0;    // that have the new version
  std::uint32_t reached = 0;  // that ever had it
  std::uint32_t installs = 0;
  std::uint32_t bad = 0;
  std::uint32_t skipped = 0;                   // in repair, or in a person's hands
  std::uint32_t moves = 0;                     // jobs stopped for it
  std::uint32_t most_out = 0;                  // nodes out of service at one time, for whatever reason
  std::uint32_t faults = 0;                    // that struck meanwhile
  std::array<double, kWasteClasses> more_h{};  // GPU-hours of each class, beyond those without it
  std::uint32_t killed = 0;                    // jobs that ended because a node of theirs had its turn
  std::uint32_t mixed = 0;                     // starts on nodes that spec.apart keeps apart
  std::uint32_t of_both = 0;                   // starts on nodes of which some had the new version and some not
  std::uint32_t budget = 0;                    // nodes that may be away at one time
  std::uint32_t most_away = 0;                 // nodes away for it at one time, those that did not come back among them
  std::uint32_t beyond_budget = 0;             // turns begun though the budget was used up, by whatever was away
  double back_h = 0;                           // until the last node was back in service
  double bound_h = 0;                          // at least needed for that, see drain_bound; 0: not known
  double turn_h = 0;                           // mean time that a node was away
  std::vector<std::string> violations;
};

Result<std::vector<UpgradeRun>> upgrade_trial(const UpgradeTrialOptions& options);

}  // namespace muster::trial
