// Policy: everything a site may decide about how Muster behaves, as data. The defaults here are the shipped policy.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/action.h"
#include "model/finding.h"

namespace muster {

// Blast-radius limits. A count limit is the larger of the percentage and the floor.
struct Limits {
  double out_cluster_pct = 10;         // nodes out of service by Muster at one time
  std::uint32_t out_cluster_floor = 2;
  double out_rack_pct = 50;
  std::uint32_t out_rack_floor = 1;
  double out_domain_pct = 25;          // of an NVLink domain that spans several nodes
  std::uint32_t out_domain_floor = 1;
  double harm_per_hour_pct = 20;       // harmful acts in any hour, in percent of the nodes
  std::uint32_t harm_per_hour_floor = 6;
  std::uint32_t job_requeues_per_day = 12;  // stops of one running job by Muster
  Duration cause_window = minutes(10);      // the same cause on many nodes within this ...
  double cause_pct = 5;                     // ... means: suspect the cause, not the nodes
  std::uint32_t cause_floor = 4;
  Duration cause_freeze = minutes(30);      // and act on that cause no more for this long
  Duration evidence_max_age = minutes(30);  // older evidence starts nothing
};

// What may be done about one kind of finding.
enum class JobCare : std::uint8_t {
  wait,     // let the job on the node end by itself
  requeue,  // stop and requeue it, given a second witness
};
constexpr std::array<std::string_view, 2> names(JobCare) { return {"wait", "requeue"}; }

struct Ladder {
  FindingKind kind = FindingKind::gpu_lost;
  bool act = true;               // false: note it, watch it
  JobCare job = JobCare::wait;
  bool test_first = false;       // suspicion only: nothing is repaired before a test has failed
  std::vector<Verb> rungs;       // tried in order, each followed by a test
};

struct Policy {
  std::string name = "default";
  Limits limits;
  std::vector<Ladder> ladders;       // one per kind; kinds not listed are watched
  std::uint32_t job_restarts_max = 50;
  Duration requeue_after = minutes(2);  // how long a broken gang may hang on a dead node before it is stopped
  Duration silent_after = minutes(3);   // node_silent
  double temp_throttle_c = 87;
  double slow_step_pct = 15;            // slow_gpu: job slower than its own baseline by this
};

Policy default_policy();
const Ladder* find_ladder(const Policy& p, FindingKind k);

template <class V>
void fields(V& v, Limits& l) {
  v("out_cluster_pct", l.out_cluster_pct);
  v("out_cluster_floor", l.out_cluster_floor);
  v("out_rack_pct", l.out_rack_pct);
  v("out_rack_floor", l.out_rack_floor);
  v("out_domain_pct", l.out_domain_pct);
  v("out_domain_floor", l.out_domain_floor);
  v("harm_per_hour_pct", l.harm_per_hour_pct);
  v("harm_per_hour_floor", l.harm_per_hour_floor);
  v("job_requeues_per_day", l.job_requeues_per_day);
  v("cause_window", l.cause_window);
  v("cause_pct", l.cause_pct);
  v("cause_floor", l.cause_floor);
  v("cause_freeze", l.cause_freeze);
  v("evidence_max_age", l.evidence_max_age);
}
template <class V>
void fields(V& v, Ladder& l) {
  v("kind", l.kind);
  v("act", l.act);
  v("job", l.job);
  v("test_first", l.test_first);
  v("rungs", l.rungs);
}
template <class V>
void fields(V& v, Policy& p) {
  v("name", p.name);
  v("limits", p.limits);
  v("ladders", p.ladders);
  v("job_restarts_max", p.job_restarts_max);
  v("requeue_after", p.requeue_after);
  v("silent_after", p.silent_after);
  v("temp_throttle_c", p.temp_throttle_c);
  v("slow_step_pct", p.slow_step_pct);
}

}  // namespace muster
