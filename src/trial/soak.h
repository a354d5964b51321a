// Soak: many seeds, every invariant checked at each step. The seed is the bug report.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ports/journal.h"
#include "trial/run.h"

namespace muster::trial {

struct SoakOptions {
  RunOptions run;  // its seed is replaced by each of ...
  std::uint64_t first_seed = 1;
  std::uint64_t seeds = 200;
  std::uint64_t faults = 0;           // more seeds after those until so many faults have struck; 0: no more
  std::uint64_t faults_floor = 2000;  // fewer faults in all: the soak proved nothing
  unsigned threads = 1;
  std::function<std::unique_ptr<Journal>()> make_journal;                  // safe to call from any thread
  std::function<void(std::uint64_t runs, std::uint64_t faults)> progress;  // so far; called from one thread at a time
  std::function<void(const RunReport&)> on_seed;                           // each as it ends; one thread at a time
};

struct SoakViolation {
  std::uint64_t seed = 0;
  std::string what;
};

struct SoakReport {
  std::uint64_t seeds = 0;
  std::uint64_t runs = 0;
  std::uint64_t faults = 0;
  std::uint64_t detected = 0;
  std::uint64_t missed = 0;
  std::uint64_t false_alarms = 0;
  std::map<std::string, std::uint64_t> false_kinds;
  std::uint64_t actions = 0;
  std::uint64_t refusals = 0;
  std::uint64_t events = 0;
  std::uint64_t jobs_completed = 0;
  std::uint64_t unfinished = 0;  // faults neither over nor in a person's hands at the end
  std::uint64_t left_to_people = 0;  // still there, and by the policy's own word not for Muster to mend
  double node_days = 0;
  std::vector<SoakViolation> violations;  // in order of seed; of each the first ones
  RuleCounts broken{};                    // all of them
  bool is_void = false;                   // too few faults
};

Result<SoakReport> soak(const SoakOptions& options);

// The rate at which sound nodes are drained, from a soak at weather x1: storms leave few nodes sound, and their rate says nothing
// about a usual day.
constexpr double kFalseDrainsMax = 1;           // per 10,000 node-days
constexpr double kFalseDrainConfidence = 0.95;  // one-sided, each
struct FalseDrains {
  double rate = 0;  // per 10,000 node-days
  double low = 0;   // the true rate is above this ...
  double high = 0;  // ... and below this, with kFalseDrainConfidence each
  enum class Verdict : std::uint8_t { held, broken, open } verdict = Verdict::open;  // open: too few node-days to tell
};
FalseDrains judge_false_drains(std::uint64_t count, double node_days);

}  // namespace muster::trial
