// Advice on placement, from the record: on how many leaf switches the engine's own scheduler put each gang, and how few Muster
// would have needed at that moment.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/json_writer.h"
#include "base/value.h"
#include "decide/cluster_view.h"
#include "report/table.h"

namespace muster::report {

class PlacementAdvice {
 public:
  // Before the event is folded into `s`, whose changes since the last call are looked at and settled.
  void take(State& s, const Event& e);
  void write(JsonWriter& w, Time now) const;  // utc

 private:
  struct Gang {
    JobId job;
    std::string name;
    std::size_t nodes = 0, leaves = 0, ours = 0;
    double gpus = 0;
    Time began, ended;  // utc; ended is 0 while it runs
    double gpu_h(Time now) const { return gpus * std::max(0.0, ((ended.ns == 0 ? now : ended) - began).seconds()) / 3600; }
  };
  void starts(State& s, const Event& e, const JobStarted& b);

  decide::ClusterView view_;
  std::vector<Gang> gangs_;
  std::map<JobId, std::size_t> running_;  // index into gangs_
  std::size_t unjudged_ = 0;
};

// Empty where nobody but Muster has placed anything. `advice`: what write() wrote.
std::string render_placement_advice(const Value& advice, bool colour);

}  // namespace muster::report
