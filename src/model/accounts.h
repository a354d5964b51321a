// The running books of GPU time: what is settled, and where every node's clock stands. Kept by the account room, stored in
// snapshots.
#pragma once
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "model/gpu_hours.h"
#include "model/job.h"

namespace muster {

// All amounts here are thousandths of GPUs, so that shares of a GPU are exact too.
struct NodeClock {
  std::int64_t since_ms = 0;  // mono
  Waste waste = Waste::idle;  // what the GPUs count that no job has
  std::vector<std::pair<JobId, std::int64_t>> jobs;  // what each job has of it
};

struct JobClock {
  std::int64_t settled_ms = 0;  // mono; everything of the attempt before is in the books
  std::int64_t milli = 0;  // on all its nodes
  bool started = false;  // the engine has said so
  Progress seen;         // at settled_ms
};

struct Accounts {
  std::int64_t began_ms = 0;  // mono
  GpuHours settled;           // in thousandths of GPU-milliseconds; installed_ms and unsettled stay 0 in here
  std::vector<NodeClock> nodes;
  std::map<JobId, JobClock> jobs;
};

template <class V>
void fields(V& v, NodeClock& n) {
  v("since_ms", n.since_ms);
  v("waste", n.waste);
  v("jobs", n.jobs);
}
template <class V>
void fields(V& v, JobClock& j) {
  v("settled_ms", j.settled_ms);
  v("milli", j.milli);
  v("started", j.started);
  v("seen", j.seen);
}
template <class V>
void fields(V& v, Accounts& a) {
  v("began_ms", a.began_ms);
  v("settled", a.settled);
  v("nodes", a.nodes);
  v("jobs", a.jobs);
}

}  // namespace muster
