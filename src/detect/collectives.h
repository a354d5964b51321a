// What jobs' logs say of their communication: collectives that did not end, transfers that failed, ports that went away.
#pragma once
#include <map>

#include "detect/sign.h"

namespace muster::detect {

class Collectives {
 public:
  void on_record(const JobLogRecord& r, Signs& out);
  void forget(JobId job) {
    std::erase_if(down_, [&](const auto& x) { return x.first.first == job; });
  }

 private:
  std::map<std::pair<JobId, std::pair<NodeId, std::int16_t>>, Time> down_;  // ports that a job lost
};

}  // namespace muster::detect
