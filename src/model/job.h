// Jobs: what a user asked for, and what has become of it. A job is a gang, all of it or nothing: pieces on nodes, whole ones or
// some GPUs of each, or a share of one GPU. It trains in steps and checkpoints; an attempt is one start of the gang.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "model/fields.h"
#include "model/level.h"

namespace muster {

struct JobSpec {
  std::string name;  // untrusted text, as are user and account
  std::string user;
  std::string account;
  std::uint32_t nodes = 1;           // pieces of the gang; each lies within one node
  std::uint32_t gpus_per_node = 0;   // GPUs of a piece; 0: the whole node
  std::uint32_t gpu_milli = 0;       // thousandths of one GPU, shared with others; 0: whole GPUs. Then nodes is 1
  std::uint32_t segment = 0;         // pieces that must share an NVLink domain; 0: none
  Level within = Level::core;        // must lie within one group of this level
  Level prefer = Level::core;        // waits up to prefer_wait_s for one group of this level, then takes what there is
  double prefer_wait_s = 0;
  std::string gpu_model;             // empty: any
  std::string pool;                  // of the site's pools; empty: any node
  std::string queue;                 // empty: the account's
  std::int32_t priority = 0;         // higher first
  double time_limit_s = 0;           // the longest one attempt may take, by its owner's word; 0: not said
  Time deadline;                     // utc, by which it should have ended; 0: none
  bool deferrable = false;           // may wait for cheap hours, as far as its deadline allows
  double value_per_gpu_h = 0;        // what its result is worth; 0: not said
  std::vector<JobId> after;          // starts when these have completed
  std::uint32_t array = 0;           // so many jobs of this kind, numbered from 0; 0: one job
  double init_s = -1;                // start-up until the first step, where known; below 0: as usual for the size
  double step_s = 10;                // nominal step time on healthy nodes
  std::uint64_t steps = 1000;        // total work
  double checkpoint_every_s = 1800;  // wanted interval of checkpoints; 0: never; below 0: nobody knows
  double checkpoint_gb = 100;        // size of one
  double checkpoint_stall_s = -1;    // steps stop for so long, then it is written beside them; below 0: for the whole write
  bool by_limit = false;             // its engine orders jobs by their time limits: no guess at its run moves it in the order
  bool no_requeue = false;           // its owner forbids that it is stopped to run again
  std::uint32_t nodes_min = 0;       // it can go on with so few pieces, slower; 0: only with all
  bool paced = false;                // it writes checkpoints when it is told to: see pace_job
  std::string barred;                // why Muster may not start it: "the engine places it", "held by its owner"; empty: it may
};

template <class V>
void fields(V& v, JobSpec& s) {
  v("name", s.name);
  v("user", s.user);
  v("account", s.account);
  v("nodes", s.nodes);
  v("gpus_per_node", s.gpus_per_node);
  v("gpu_milli", s.gpu_milli);
  v("segment", s.segment);
  v("within", s.within);
  v("prefer", s.prefer);
  v("prefer_wait_s", s.prefer_wait_s);
  v("gpu_model", s.gpu_model);
  v("pool", s.pool);
  v("queue", s.queue);
  v("priority", s.priority);
  v("time_limit_s", s.time_limit_s);
  v("deadline", s.deadline);
  v("deferrable", s.deferrable);
  v("value_per_gpu_h", s.value_per_gpu_h);
  v("after", s.after);
  v("array", s.array);
  v("init_s", s.init_s);
  v("step_s", s.step_s);
  v("steps", s.steps);
  v("checkpoint_every_s", s.checkpoint_every_s);
  v("checkpoint_gb", s.checkpoint_gb);
  v("checkpoint_stall_s", s.checkpoint_stall_s);
  v("by_limit", s.by_limit);
  v("no_requeue", s.no_requeue);
  v("nodes_min", s.nodes_min);
  v("paced", s.paced);
  v("barred", s.barred);
}

// What the engine last said about an attempt. All counts are of this attempt except the steps, which are of the job.
struct Progress {
  std::uint64_t steps = 0;          // reached
  std::uint64_t durable_steps = 0;  // safe in a checkpoint
  std::int64_t init_ms = 0;         // start-up until the first step
  std::int64_t checkpoint_ms = 0;   // steps stopped for writing
  std::int64_t slow_ms = 0;         // beyond the nominal step time
  std::uint32_t checkpoints = 0;    // written in full
  auto operator<=>(const Progress&) const = default;
};

template <class V>
void fields(V& v, Progress& p) {
  v("steps", p.steps);
  v("durable_steps", p.durable_steps);
  v("init_ms", p.init_ms);
  v("checkpoint_ms", p.checkpoint_ms);
  v("slow_ms", p.slow_ms);
  v("checkpoints", p.checkpoints);
}

enum class JobPhase {
  queued,     // waits for nodes
  starting,   // nodes chosen, start ordered
  running,
  broken,     // the attempt ended by a failure; a decision to requeue or give up is due
  completed,
  failed,     // given up: its own fault, too many restarts, or its time limit
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
  timed_out,    // it ran for as long as its owner said it might; not tried again, for it would run as long
};
constexpr std::array<std::string_view, 6> names(JobEnd) {
  return {"completed", "app_failed", "node_failed", "requeued", "cancelled", "timed_out"};
}

// Why the nodes are the best that could be had: a certificate that can be checked without trust in who made it.
struct Placement {
  Level level = Level::core;       // lowest level of which one group held the gang
  std::uint32_t group = 0;         // that group
  std::uint32_t leaves = 0;        // used
  std::uint32_t leaves_min = 0;    // proven lower bound at that moment
  std::uint32_t leaves_empty = 0;  // least on an empty cluster
  std::vector<std::uint32_t> best_below;  // most pieces that one group of each lower level could have taken
  std::vector<std::pair<NodeId, std::uint16_t>> apart;  // free GPUs it was kept off: reservations need them before it ends
  std::string why;
};

template <class V>
void fields(V& v, Placement& p) {
  v("level", p.level);
  v("group", p.group);
  v("leaves", p.leaves);
  v("leaves_min", p.leaves_min);
  v("leaves_empty", p.leaves_empty);
  v("best_below", p.best_below);
  v("apart", p.apart);
  v("why", p.why);
}

struct Job {
  JobId id;
  JobSpec spec;
  JobPhase phase = JobPhase::queued;
  std::uint64_t order = 0;        // first in, first out; kept over restarts
  std::uint32_t attempt = 0;      // 0 until the first start is ordered
  std::uint32_t restarts = 0;     // attempts lost to failures
  std::uint32_t fruitless = 0;    // of those, the last in a row, with no step made durable since the first of them began
  std::uint32_t app_failures = 0; // of the fruitless, how many the program had only itself to blame for, by the engine's word
  Time submitted;                 // utc
  Time started;                   // utc, of this attempt
  Time ended;                     // utc
  std::vector<NodeId> nodes;      // of this attempt, in node order
  std::vector<std::uint16_t> slots;  // GPUs on each, as a bit mask; empty: all of each
  Time checkpointed;              // utc of the last durable progress of this attempt
  Duration paced_every;           // as it was last told; 0: it was not
  Time paced_next;                // utc
  Time queued;                    // mono; since when it has waited
  Duration waited;                // in earlier waits
  Time began;                     // mono; of this attempt
  Duration ran;                   // run time of earlier attempts that is not lost
  Time paused_until;              // mono; it stepped aside for others and is not wanted back before; 0: it did not
  Duration paused;                // in all
  Time promised_until;            // mono; others were stopped for it, and it is first until then; 0: no
  std::vector<JobId> waits_for;   // of spec.after, those that have not completed
  bool hopeless = false;          // one of those ended without completing: it can never start
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
  v("fruitless", j.fruitless);
  v("app_failures", j.app_failures);
  v("submitted", j.submitted);
  v("started", j.started);
  v("ended", j.ended);
  v("nodes", j.nodes);
  v("slots", j.slots);
  v("checkpointed", j.checkpointed);
  v("paced_every", j.paced_every);
  v("paced_next", j.paced_next);
  v("queued", j.queued);
  v("waited", j.waited);
  v("began", j.began);
  v("ran", j.ran);
  v("paused_until", j.paused_until);
  v("paused", j.paused);
  v("promised_until", j.promised_until);
  v("waits_for", j.waits_for);
  v("hopeless", j.hopeless);
  v("progress", j.progress);
  v("placement", j.placement);
  v("last_end", j.last_end);
  v("last_detail", j.last_detail);
}

// The attempt told `told`. A step that is durable at last shows that trying is worth while.
inline void told(Job& j, const Progress& told) {
  if (told.durable_steps > j.progress.durable_steps) j.fruitless = j.app_failures = 0;
  j.progress = told;
}

// The attempt was lost to a failure.
inline void lost(Job& j, JobEnd end) {
  ++j.restarts;
  ++j.fruitless;
  j.app_failures += end == JobEnd::app_failed ? 1 : 0;
}

// Nothing but room stands in its way.
inline bool ready(const Job& j) { return j.waits_for.empty() && !j.hopeless && j.spec.barred.empty(); }

constexpr bool ended(JobPhase p) {
  return p == JobPhase::completed || p == JobPhase::failed || p == JobPhase::cancelled;
}

}  // namespace muster
