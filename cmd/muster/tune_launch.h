// One launch of a program that measures: its environment, how long it may take, and what it printed.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace muster::cmd {

constexpr std::size_t kLaunchOutputMax = std::size_t{64} << 20;

struct Launch {
  std::vector<std::string> words;
  std::vector<std::pair<std::string, std::string>> set;
  std::vector<std::string> unset;
  double limit_s = 300;
  bool complaints_apart = false;  // what it says on stderr goes to ours, not into the output
  bool whole_or_nothing = false;  // what it prints is of no use in part: it is ended when that is too much
};

struct Launched {
  int exit = 0;  // or 128 and the signal that ended it
  bool timed_out = false, interrupted = false;
  bool too_much = false;  // it was ended for what it printed
  double seconds = 0;
  std::string output;  // of both its streams, as far as kLaunchOutputMax
};

// An error where it could not be started. The program has a process group of its own, which ends with it; an interrupt of this
// program ends it too.
Result<Launched> launch(const Launch& ask);

}  // namespace muster::cmd
