// Jobs: what a user asked for, and what has become of it. All jobs here are gangs of whole nodes that train in steps and
// checkpoint; an attempt is one start of the gang.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "model/fields.h"

namespace muster {

struct JobSpec {
  std::string name;  // untrusted text, as are user and account
  std::string user;
  std::string account;
  std::uint32_t nodes = 1;
  double step_s = 10;                // nominal step time on healthy nodes
  std::uint64_t steps = 1000;        // total work
  double checkpoint_every_s = 1800;  // wanted interval of checkpoints; 0: never
  double checkpoint_gb = 100;        // size of one
};

template <class V>
void fields(V& v, JobSpec& s) {
  v("name", s.name);
  v("user", s.user);
  v("account", s.account);
  v("nodes", s.nodes);
  v("step_s", s.step_s);
  v("steps", s.steps);
  v("checkpoint_every_s", s.checkpoint_every_s);
  v("checkpoint_gb", s.checkpoint_gb);
}

// What the engine last said about an attempt. All counts are of this attempt except the steps, which are of the job.
struct Progress {
  std::uint64_t steps = 0;          // reached
  std::uint64_t durable_steps = 0;  // safe in a checkpoint
  std::int64_t init_ms = 0;         // start-up until the first step
  std::int64_t checkpoint_ms = 0;   // steps stopped for writing
  std::int64_t slow_ms = 0;         // beyond the nominal step time
  auto operator<=>(const Progress&) const = default;
};

template <class V>
void fields(V& v, Progress& p) {
  v("steps", p.steps);
  v("durable_steps", p.durable_steps);
  v("init_ms", p.init_ms);
  v("checkpoint_ms", p.checkpoint_ms);
  v("slow_ms", p.slow_ms);
}

enum class JobPhase {
  queued,     // waits for nodes
  starting,   // nodes chosen, start ordered
  running,
  broken,     // the attempt ended by a failure; a decision to requeue or give up is due
  completed,
  failed,     // given up: its own fault, or too many restarts
  cancelled,
};
constexpr std::array<std::string_view, 7> names(JobPhase) {
  return {"queued", "starting", "running", "broken", "completed", "failed", "cancelled"};
}

enum class JobEnd {
  completed,
  app_failed,   // the program exited with an error
  node_failed,  // the engine lost a node of the gang, or the launcher lost a rank
  requeued,     // stopped on request, to run again
  cancelled,
};
constexpr std::array<std::string_view, 5> names(JobEnd) {
  return {"completed", "app_failed", "node_failed", "requeued", "cancelled"};
}

// Why the nodes are the best that could be had: the number of leaves used and the least that any choice could have used.
struct Placement {
  std::uint32_t leaves = 0;
  std::uint32_t leaves_min = 0;  // proven lower bound at that moment
  std::string why;
};

template <class V>
void fields(V& v, Placement& p) {
  v("leaves", p.leaves);
  v("leaves_min", p.leaves_min);
  v("why", p.why);
}

struct Job {
  JobId id;
  JobSpec spec;
  JobPhase phase = JobPhase::queued;
  std::uint64_t order = 0;        // first in, first out; kept over restarts
  std::uint32_t attempt = 0;      // 0 until the first start is ordered
  std::uint32_t restarts = 0;     // attempts lost to failures
  std::uint32_t app_failures = 0; // of those, how many the program had only itself to blame for, by the engine's word
  Time submitted;                 // utc
  Time started;                   // utc, of this attempt
  Time ended;                     // utc
  std::vector<NodeId> nodes;      // of this attempt, in node order
  Progress progress;
  Placement placement;
  JobEnd last_end = JobEnd::completed;
  std::string last_detail;        // the engine's words about the last end; untrusted text
};

template <class V>
void fields(V& v, Job& j) {
  v("id", j.id);
  v("spec", j.spec);
  v("phase", j.phase);
  v("order", j.order);
  v("attempt", j.attempt);
  v("restarts", j.restarts);
  v("app_failures", j.app_failures);
  v("submitted", j.submitted);
  v("started", j.started);
  v("ended", j.ended);
  v("nodes", j.nodes);
  v("progress", j.progress);
  v("placement", j.placement);
  v("last_end", j.last_end);
  v("last_detail", j.last_detail);
}

constexpr bool ended(JobPhase p) {
  return p == JobPhase::completed || p == JobPhase::failed || p == JobPhase::cancelled;
}

}  // namespace muster
