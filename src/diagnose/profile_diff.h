// Two profiles of the same job, before and after a change: what became faster, and what slower.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "diagnose/profile.h"

namespace muster::diagnose {

struct KernelChange {
  std::string name;                    // of the class; printable
  double before_ms = 0, after_ms = 0;  // a step
  double before_n = 0, after_n = 0;    // times a step
};

struct ProfileDiff {
  std::string before_file, after_file;
  double before_ms = 0, after_ms = 0;          // a step
  Shares before_share_ms{}, after_share_ms{};  // milliseconds a step, by Bound
  std::vector<KernelChange> kernels;           // what changed most first
  double gain_pct() const { return before_ms > 0 ? 100 * (1 - after_ms / before_ms) : 0; }
};

// An error where one of them has nothing on a GPU.
Result<ProfileDiff> compare_profiles(const Profile& before, const Profile& after);

}  // namespace muster::diagnose
