// Probes: questions that may never be answered (a hung driver, a dead file server), each asked by a process of its own. A keeper
// process, forked before the agent has threads, starts them, asks them again and again, and kills those that exceed their
// deadline; the agent only reads what the keeper reports, and never waits for anything a probe touches.
#pragma once
#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace muster::agent {

struct ProbeSpec {
  std::string name;  // "nvml", "mount:/data"
  Duration every = seconds(1);
  Duration deadline = seconds(5);
  std::function<std::string()> ask;  // run in the probe's process: its text is the answer
  // Run in a thread of the probe's process, if there is one: what it tells is reported at once, without having been asked for.
  std::function<void(const std::function<void(const std::string&)>& tell)> watch = {};
};

enum class ProbeState { ok, hung, died, told };

struct ProbeReport {
  std::string name;
  ProbeState state = ProbeState::ok;
  std::string text;  // of an answer, or what was told
  Duration took;
};

class Probes {
 public:
  // Call before the process has threads. `find` is asked in the keeper now and then which probes there should be, besides
  // `fixed`.
  static Result<std::unique_ptr<Probes>> start(std::vector<ProbeSpec> fixed, std::function<std::vector<ProbeSpec>()> find);
  ~Probes();  // ends the keeper and, with it, the probes
  Probes(const Probes&) = delete;
  Probes& operator=(const Probes&) = delete;

  // The driver told of a fault: probes that watch it are asked now, not when they are next due.
  void hurry();
  int fd() const { return fd_; }  // readable when there is a report
  // What came in since the last call; never blocks. An error: the keeper is gone.
  Result<std::vector<ProbeReport>> read();

 private:
  Probes(int fd, pid_t keeper) : fd_(fd), keeper_(keeper) {}
  int fd_;
  pid_t keeper_;
  std::string buffer_;
};

constexpr std::size_t kAnswerMax = 256 << 10;  // bytes of one answer; a longer one is cut

}  // namespace muster::agent
