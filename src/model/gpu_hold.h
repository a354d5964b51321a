// Who held which GPUs from when to when: one run of a job, as far as energy, money and carbon are asked of it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"

namespace muster {

// Of one node. GPUs are counted in thousandths.
struct HeldPlace {
  std::string node;
  std::int64_t gpus_milli = 0;
  std::vector<std::string> gpus;  // UUIDs or indices; empty: which ones they were is not known
};

// Texts are untrusted.
struct GpuHold {
  std::string job;
  std::string user;
  std::string account;
  std::string partition;
  std::string gpu_type;  // "h200"; empty: not known
  Time started, ended;   // utc
  std::vector<HeldPlace> places;
  std::optional<double> engine_j;  // what the engine's accounting says it used, whole nodes
  std::optional<double> tokens;    // that it trained on or served

  std::int64_t gpus_milli() const {
    std::int64_t all = 0;
    for (const HeldPlace& p : places) all += p.gpus_milli;
    return all;
  }
};

// What a model of GPU draws where nobody measured it.
struct GpuWatts {
  std::string gpu;       // "h200"
  double idle_w = 0;     // nothing runs
  double typical_w = 0;  // over a whole job
  double max_w = 0;      // its limit
  std::string source;
};

}  // namespace muster
