// Two runs of the same job, before and after a change: what became faster, what slower, and which settings differ.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "diagnose/profile.h"
#include "model/step_log.h"

namespace muster::diagnose {

struct KernelChange {
  std::string name;                    // of the class; printable
  double before_ms = 0, after_ms = 0;  // a step
  double before_n = 0, after_n = 0;    // times a step
};

struct RankChange {
  std::string rank;                    // "rank 2"
  double before_ms = 0, after_ms = 0;  // a step
};

struct RateChange {
  std::string_view name;  // "tokens/s of a GPU"
  double before = 0, after = 0;
};

struct SettingChange {
  std::string name, before, after;  // printable; empty: not there
};

struct RunDiff {
  double before_ms = 0, after_ms = 0;          // a step
  double chance_ms = 0;                        // as much as two such runs may differ by chance; 0: too few steps to tell
  bool profiled = false;                       // shares and kernels are known
  Shares before_share_ms{}, after_share_ms{};  // milliseconds a step, by Bound
  std::vector<KernelChange> kernels;           // what changed most first
  std::vector<RankChange> ranks;               // of several that are in both; what changed most first
  std::vector<RateChange> rates;               // as the logs tell them
  std::vector<SettingChange> settings;         // that the logs print, and that differ

  double gain_pct() const { return before_ms > 0 ? 100 * (1 - after_ms / before_ms) : 0; }
  bool by_chance() const {
    const double apart = after_ms > before_ms ? after_ms - before_ms : before_ms - after_ms;
    return chance_ms > 0 && apart <= chance_ms;
  }
};

// Means over ranks. An error where a side has nothing on a GPU.
Result<RunDiff> compare_profiles(std::span<const Profile> before, std::span<const Profile> after);
// Medians, without warming up. An error where a side has no times.
Result<RunDiff> compare_logs(const StepLog& before, const StepLog& after);
// What profiles do not tell of.
void add_logs(RunDiff& diff, const StepLog& before, const StepLog& after);

}  // namespace muster::diagnose
