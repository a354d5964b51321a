// Runs a program of the site, bounded in time and output. Slurm's library is not linked: its licence and its ABI, which changes
// with every release, both forbid it.
#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"

namespace muster::slurm {

struct Command {
  std::vector<std::string> argv;                         // looked up in PATH
  std::vector<std::pair<std::string, std::string>> env;  // beside what this process has
  std::chrono::milliseconds timeout{10'000};
};

struct Ran {
  int status = 0;  // exit code; 128 + signal
  std::string out;
  std::string err;  // its first kilobytes
  double cpu_s = 0;
};

// An error: it could not be started, did not end in time (and was killed), or said more than anybody can take.
Result<Ran> run(const Command& c);

}  // namespace muster::slurm
