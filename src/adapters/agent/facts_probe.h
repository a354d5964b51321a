// What the node is and runs, as the agent gives it to whoever asks: read at most once an hour, and when another driver is loaded.
#pragma once
#include <string>

#include "base/time.h"

namespace muster::agent {

class FactsProbe {
 public:
  explicit FactsProbe(std::string node, std::string root = {}) : node_(std::move(node)), root_(std::move(root)) {}
  // A line of docs/formats/facts.md; empty: what was said last holds. `root` stands for / in tests.
  std::string ask(Time now);

 private:
  std::string node_, root_;
  std::string driver_;
  Time read_;
  bool asked_ = false;
};

}  // namespace muster::agent
