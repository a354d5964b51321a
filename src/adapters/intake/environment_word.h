// What jobs run in, by way of their nodes' agents (docs/health/agent.md): from an agent's word to an event, where it is news.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "base/value.h"
#include "model/state.h"

namespace muster {

class JobEnvironments {
 public:
  // Nothing: it is no such word, it is not believed (the job does not run there), or it is known. `age`: how long ago the node
  // looked. The event is short where another node of the attempt told the same and that is on record.
  std::optional<JobDescribed> take(const Value& facts, JobId job, NodeId from, Duration age, const State& s);
  // It is on record; or it is not, and will be told again.
  void taken(const JobDescribed& b);
  void lost(const JobDescribed& b);

 private:
  struct Told {
    std::uint32_t attempt = 0;
    std::map<NodeId, std::shared_ptr<const Facts>> nodes;
    std::map<Facts, NodeId> on_record;  // who has told it in full
  };
  std::mutex lock_;             // batches come from many threads
  std::map<JobId, Told> told_;  // of jobs that run
};

}  // namespace muster
