// GPUs on which programs fail. An illegal address is the program's fault, unless programs of different jobs meet it on the same
// GPU more often than chance allows: then the GPU is suspected, and tested when it is free.
#pragma once
#include <deque>
#include <map>

#include "detect/sign.h"

namespace muster::detect {

class Suspect {
 public:
  explicit Suspect(const Site& site) : slots_(site.gpus_per_node), gpus_(site.gpus()) {}
  void on_app_error(const KernelRecord& r, const State& s, Time mono);
  void on_turn(const State& s, Time utc, Time mono, Signs& out);
  Time next() const { return unjudged_.empty() ? kNever : unjudged_.front().due; }

 private:
  struct Case {  // a job that failed, and where
    Time at;     // mono
    std::vector<std::uint32_t> gpus;
  };
  struct Due {
    Time due;  // mono: when the job's other ranks have had time to fail too
    std::uint32_t gpu;
    std::string text;
  };
  std::uint32_t slots_;
  std::uint32_t gpus_;
  std::map<JobId, Case> cases_;  // of the last day
  std::deque<Due> unjudged_;
};

}  // namespace muster::detect
