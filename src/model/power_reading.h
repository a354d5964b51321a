// What meters said of the power of GPUs and nodes over time: watts as sampled, and counters of energy where there are some.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "base/time.h"

namespace muster {

struct PowerPoint {
  Time at;                      // utc
  double power_w = -1;          // below 0: not said
  std::int64_t energy_mj = -1;  // since some moment in the past, which moves when the driver is loaded anew; below 0: not said
};

// Of one GPU, or of a whole node by its own meter.
struct PowerTrack {
  std::string node;                      // empty: the source does not say
  std::string gpu;                       // UUID; else its index as text; empty for a whole node
  int index = -1;                        // of the GPU in its node; below 0: not said
  bool whole_node = false;               // GPUs, host, fans and all
  std::string model;                     // "NVIDIA H200"; empty: not said
  std::vector<std::string> other_nodes;  // names that readings of the same time gave its node besides
  std::vector<PowerPoint> points;        // by time, each later than the one before
};

struct PowerReadings {
  std::vector<PowerTrack> tracks;  // by node and GPU
  std::uint64_t points = 0;
  std::uint64_t refused = 0;  // values that no meter can have meant: blanks, below 0, beyond any GPU
  std::string some_refused;   // one of them, in words
};

// Without a domain and a port, in small letters: "GPU01.site.org:9400" is gpu01. Addresses lose their port alone.
inline std::string short_node(std::string_view node) {
  const bool address = !node.empty() && (node.front() == '[' || node.find_first_not_of("0123456789.:") == std::string_view::npos);
  if (address) return lower(node.substr(0, node.front() == '[' ? node.find(']') + 1 : node.find(':')));
  return lower(node.substr(0, node.find_first_of(".:")));
}

}  // namespace muster
