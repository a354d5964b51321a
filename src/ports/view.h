#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/gpu_hours.h"
#include "model/sample.h"
#include "model/state.h"

namespace muster {

// Newest known readings of one GPU, for the map; kNoReading where none.
struct GpuReading {
  float temp_c = -1;
  float power_w = -1;
  float util_pct = -1;
  float sm_clock_mhz = -1;
  float tensor_active = -1;  // 0 to 1
  float collective_us = -1;  // mean time in its job's collectives
};

// Everything the faces show, frozen at one turn. Immutable and shared: readers never wait for the loop.
struct Snapshot {
  State state;
  GpuHours gpu_hours;
  std::vector<GpuReading> readings;  // node * gpus_per_node + slot
  std::string digest;                // head of the journal's chain
  std::string simulation;            // what a simulation says of itself, e.g. "weather x1, speed x60"; empty on a real cluster
  std::string trouble;  // what keeps this picture from being true now, e.g. an engine that does not answer; empty: nothing
  Time wall;            // utc of this machine when it was taken
};

struct View {
  virtual ~View() = default;
  virtual std::shared_ptr<const Snapshot> latest() const = 0;
};

}  // namespace muster
