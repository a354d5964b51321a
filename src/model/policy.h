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

// A queue: an account, or a group of accounts. Queues form a tree; what a queue uses, its parents use too.
struct ModelQuota {
  std::string model;                  // "H200"
  std::uint32_t guaranteed_gpus = 0;
  std::uint32_t limit_gpus = 0;       // 0: none
};
struct QueueSpec {
  std::string name;                   // unique; a job's account
  std::string parent;                 // empty: directly under the cluster
  double weight = 1;                  // share of what its parent has, against its siblings
  std::uint32_t guaranteed_gpus = 0;  // it can always have so many, if need be by preempting who borrowed them
  std::uint32_t limit_gpus = 0;       // it never has more; 0: none
  double limit_kw = 0;                // of power; 0: none
  bool borrow = true;                 // may use more than its guarantee while others leave theirs unused
  bool lend = true;                   // others may use what it leaves unused
  std::vector<ModelQuota> models;     // further quotas, for GPUs of one model
};

// How the queue is run.
struct Scheduling {
  bool backfill = true;              // false: strictly first in, first out
  Duration wait_limit = hours(8);    // who has waited longer goes before all others
  std::uint32_t reserve = 4;         // the first so many that do not fit hold reservations; the rest may only fill gaps
  double compact_runs = 1;           // a gang lets others pass that fill holes better, for so many times its own run ...
  Duration compact_wait = minutes(30);  // ... and no longer than this; 0: nobody waits for a better place
  Duration half_life = days(7);      // of what a queue has used, for its fair share; 0: only what it holds now
  bool preempt = true;               // stop work of lower priority, or that borrowed another's guarantee
  Duration preempt_protects = minutes(10);  // who has run for less is left alone
  Duration preempt_after = minutes(5);      // by priority: only for who has waited so long
  double preempt_loss = 0.25;               // and only if no more is lost than this part of the work it will do
  std::uint32_t stops_per_day = 2;          // no job is stopped or moved for the queue's sake more often
  bool pause = false;                // long runs step aside, at a checkpoint, for short jobs that wait
  bool repair = true;                // replace failed nodes of a gang near it, without sending it back to the queue
  double spare_confidence = 0;       // nodes kept free in each pod so that so many failures find a spare; 0: none
  bool defrag = true;                // move gangs at checkpoints when more is gained than it costs
  double gpu_kw = 1.2;               // what a busy GPU draws, with its share of node and cooling: for prices
  double carbon_per_tonne = 0;       // money a tonne of CO2 counts for, beside the price
};

// What a site says of a fault code instead of the catalogue; what is empty stays as the catalogue has it.
struct FaultOverride {
  std::string code;  // of the catalogue: "Xid 94"
  std::string severity;
  std::string action;
  std::string meaning;
};

struct Policy {
  std::string name = "default";
  Limits limits;
  std::vector<Ladder> ladders;       // one per kind; kinds not listed are watched
  std::uint32_t job_restarts_max = 50;
  Duration requeue_after = minutes(2);  // how long a broken gang may hang on a dead node before it is stopped
  Duration silent_after = minutes(3);   // node_silent
  double temp_throttle_c = 87;
  bool heat_aware = true;               // a row that grows hot is slowed before its GPUs throttle, and avoided
  double slow_step_pct = 15;            // slow_gpu: job slower than its own baseline by this
  double gpu_hour_price = 0;            // what a lost GPU-hour costs, in the site's money; 0: not said
  Scheduling scheduling;
  std::vector<QueueSpec> queues;        // empty: every account is one, with equal weight
  std::vector<FaultOverride> faults;    // none: the catalogue as it ships
};

// The models whose GPUs are counted apart: the first two that queues name. Empty: none.
std::array<std::string, 2> scarce_models(const Policy& p);
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
void fields(V& v, ModelQuota& q) {
  v("model", q.model);
  v("guaranteed_gpus", q.guaranteed_gpus);
  v("limit_gpus", q.limit_gpus);
}
template <class V>
void fields(V& v, QueueSpec& q) {
  v("name", q.name);
  v("parent", q.parent);
  v("weight", q.weight);
  v("guaranteed_gpus", q.guaranteed_gpus);
  v("limit_gpus", q.limit_gpus);
  v("limit_kw", q.limit_kw);
  v("borrow", q.borrow);
  v("lend", q.lend);
  v("models", q.models);
}
template <class V>
void fields(V& v, Scheduling& s) {
  v("backfill", s.backfill);
  v("wait_limit", s.wait_limit);
  v("reserve", s.reserve);
  v("compact_runs", s.compact_runs);
  v("compact_wait", s.compact_wait);
  v("half_life", s.half_life);
  v("preempt", s.preempt);
  v("preempt_protects", s.preempt_protects);
  v("preempt_after", s.preempt_after);
  v("preempt_loss", s.preempt_loss);
  v("stops_per_day", s.stops_per_day);
  v("pause", s.pause);
  v("repair", s.repair);
  v("spare_confidence", s.spare_confidence);
  v("defrag", s.defrag);
  v("gpu_kw", s.gpu_kw);
  v("carbon_per_tonne", s.carbon_per_tonne);
}
template <class V>
void fields(V& v, FaultOverride& f) {
  v("code", f.code);
  v("severity", f.severity);
  v("action", f.action);
  v("meaning", f.meaning);
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
  v("gpu_hour_price", p.gpu_hour_price);
  v("heat_aware", p.heat_aware);
  v("scheduling", p.scheduling);
  v("queues", p.queues);
  v("faults", p.faults);
}

}  // namespace muster
