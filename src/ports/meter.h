#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace muster {

// What an edge counts about itself, for /metrics: one family of series.
struct Meter {
  std::string name;  // "muster_scrapes_total"
  std::string type;  // "counter" or "gauge"
  std::string help;
  std::string label;                                     // empty: one series, without a label
  std::vector<std::pair<std::string, double>> readings;  // (the label's value, number)
};

// Of all edges, as they are now. From any thread.
using Meters = std::function<std::vector<Meter>()>;

}  // namespace muster
