// Operations of a training job as its framework timed them, on every worker: computing, sends and receives, and what all do at
// the end of a step.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace muster {

struct JobOp {
  std::uint32_t dp = 0, stage = 0, step = 0;
  std::int32_t seq = 0;    // of its kind, on its worker, in its step
  std::uint16_t type = 0;  // OpTrace::types
  double start_s = 0, length_s = 0;

  double end_s() const { return start_s + length_s; }
};

struct OpTrace {
  std::vector<std::string> types;  // "forward-compute", ...; untrusted
  std::vector<JobOp> ops;
  std::uint32_t dp = 0, stages = 0;  // as many as there are
};

}  // namespace muster
