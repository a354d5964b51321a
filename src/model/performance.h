// What nodes were measured at: bus bandwidth, TFLOP/s, copies. More is better in each.
#pragma once
#include <string>
#include <vector>

namespace muster {

struct NodePerformance {
  std::vector<std::string> measures;        // names of the columns
  std::vector<bool> less_is_better;         // by measure, as it was written: its values are turned round. Empty: in none
  std::vector<std::string> nodes;           // in the order of the file; each once
  std::vector<std::vector<double>> values;  // by measure, then by node; NaN: not measured
  std::vector<std::string> notes;           // names of which it is not sure whether less is better
};

}  // namespace muster
