// What jobs' logs say of their communication: collectives that did not end and the rank that did not come to them, transfers that
// failed, ports that went away.
#pragma once
#include <map>
#include <set>

#include "detect/sign.h"

namespace muster::detect {

class Collectives {
 public:
  void on_record(const JobLogRecord& r, const State& s, Time mono, Signs& out);
  // Names the ranks that were missing, once the others have had time to say where they stood.
  void on_turn(const State& s, Time utc, Time mono, Signs& out);
  Time next() const;
  void forget(JobId job);

 private:
  struct Hang {
    Time due;                              // mono
    std::set<int> waited;                  // ranks whose collective timed out
    std::map<int, std::int64_t> enqueued;  // how far each had come
  };
  std::map<std::pair<JobId, std::pair<NodeId, std::int16_t>>, Time> down_;  // ports that a job lost
  std::map<JobId, Hang> hangs_;
};

}  // namespace muster::detect
