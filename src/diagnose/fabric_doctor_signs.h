// Lines of logs that tell a cause by themselves: what NCCL, CUDA, libfabric and the kernel print when a limit, a driver, an
// interface or a card is in the way. One table for `muster diagnose` and `muster tune doctor`.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/finding.h"

namespace muster::diagnose {

// What a cause is, and what to do about it.
struct Cause {
  std::string_view name;  // "shm_too_small"
  std::string_view title, remedy, verify;
  int rank = 100;  // of two that are seen, the lower one is nearer to the root
};
// nullptr: no cause has this name.
const Cause* cause_named(std::string_view name);
// All that are known, the nearest to a root first.
std::vector<const Cause*> known_causes();

struct SignMatch {
  std::string_view cause;
  Confidence confidence = Confidence::medium;
};
// What the line says; an empty cause: nothing that is known.
SignMatch sign_of(std::string_view line);

// A finding of that cause, without evidence.
Finding finding_of(const Cause& cause, Confidence confidence);

struct SeenSign {
  std::string_view cause;
  Confidence confidence = Confidence::medium;
  std::uint64_t times = 0;
  std::vector<std::string> evidence;  // "job.log:12: the line", the first few
  std::set<int> ranks;                // that say so, as far as their lines tell
};

// Reads logs line by line. Memory is bounded whatever their length.
class SignReader {
 public:
  void begin_file(std::string_view name);
  void feed(std::string_view text);
  // By cause, in the order of their ranks.
  std::vector<SeenSign> finish();

 private:
  void line(std::string_view text);
  void tests_line(std::string_view text);
  void note(std::string_view cause, Confidence confidence, std::string_view text);

  std::string file_ = "log", carry_;
  bool too_long_ = false;
  std::uint32_t number_ = 0;
  std::map<std::string_view, SeenSign> seen_;
  // Of nccl-tests: several that ran at the same time print their beginnings and ends into each other.
  std::uint32_t headers_ = 0, averages_ = 0;
  std::set<std::string> first_ranks_;
  std::set<std::string> with_plugin_, without_plugin_;  // hosts
};

}  // namespace muster::diagnose
