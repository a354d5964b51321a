// What nodes were measured at: bus bandwidth, TFLOP/s, copies. More is better in each.
#pragma once
#include <string>
#include <vector>

namespace muster {

struct NodePerformance {
  std::vector<std::string> measures;        // names of the columns
  std::vector<std::string> nodes;           // in the order of the file; each once
  std::vector<std::vector<double>> values;  // by measure, then by node; NaN: not measured
};

}  // namespace muster
