// Policy: everything a site may decide about how Muster behaves, as data. The defaults here are the shipped policy.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/action.h"
#include "model/finding.h"
#include "model/runbook.h"

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

// A node that fails again and again although every repair seemed to help.
struct Lemons {
  double score = 6;         // at which a node is kept out of service, for a person to look at; 0: never. See lemon_score
  bool quarantine = true;   // false: it is only said
};

// Acts that a person must approve first.
struct Approvals {
  std::uint32_t gpus = 0;         // acts that stop live work on more GPUs than this; 0: none needs it for its size
  bool unknown_checkpoint = true; // acts that stop a job of which nobody knows how old its checkpoint is
  std::vector<Verb> verbs;        // and these, always
  Duration patience = hours(4);   // an approval nobody gives is asked for anew after this
};

// A time of the week at which work that can wait is done.
struct Window {
  std::uint32_t days = 127;     // bit 0: Monday
  std::uint32_t from_min = 0;   // of the day, local time
  std::uint32_t to_min = 1440;  // below from_min: of the next day
  std::string zone = "UTC";     // IANA
  std::vector<std::pair<Time, std::int32_t>> offsets;  // utc -> seconds east, from then on: the zone, as far as it is known
};

// Nodes that are treated differently.
struct NodeGroup {
  std::string name;
  std::string nodes;              // "node[001-064]"
  bool shadow = false;            // nothing is done there; it is said what would be
  std::vector<Runbook> runbooks;  // instead of the policy's of the same name
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
  bool in_order = false;             // equals in priority start in the order they came; false: short and small ones first
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
  std::vector<Runbook> runbooks;     // kinds without one are watched
  bool shadow = false;               // nothing is done at all; it is said what would be
  Lemons lemons;
  Approvals approvals;
  std::vector<Window> windows;       // for runbooks that may wait; none: at any time
  std::vector<NodeGroup> groups;     // the first that names a node holds
  std::uint32_t job_restarts_max = 50;
  // How long a gang may hang on a dead node before it is stopped. A rank that is to exit has done so within 16 s; who hangs
  // longer hangs until the time-out.
  Duration requeue_after = seconds(20);
  Duration silent_after = minutes(3);   // node_silent
  double temp_throttle_c = 87;
  bool heat_aware = true;               // a row that grows hot is slowed before its GPUs throttle, and avoided
  double slow_step_pct = 15;            // slow_gpu: job slower than its own baseline by this
  double gpu_hour_price = 0;            // what a lost GPU-hour costs; 0: not said
  std::string currency = "USD";         // of that price: three letters
  std::string price_assumed;            // where the price is from, if it is not the site's own: "H100 3.99 USD, ..."
  Scheduling scheduling;
  std::vector<QueueSpec> queues;        // empty: every account is one, with equal weight
  std::vector<FaultOverride> faults;    // none: the catalogue as it ships
};

// The models whose GPUs are counted apart: the first two that queues name. Empty: none.
std::array<std::string, 2> scarce_models(const Policy& p);
Policy default_policy();
// A count limit: the larger of a share of `of` and a floor.
std::uint32_t allowance(double pct, std::uint32_t floor, std::uint32_t of);
const Runbook* find_runbook(const Policy& p, FindingKind k, std::int32_t code = 0);

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
void fields(V& v, Lemons& l) {
  v("score", l.score);
  v("quarantine", l.quarantine);
}
template <class V>
void fields(V& v, Approvals& a) {
  v("gpus", a.gpus);
  v("unknown_checkpoint", a.unknown_checkpoint);
  v("verbs", a.verbs);
  v("patience", a.patience);
}
template <class V>
void fields(V& v, Window& w) {
  v("days", w.days);
  v("from_min", w.from_min);
  v("to_min", w.to_min);
  v("zone", w.zone);
  v("offsets", w.offsets);
}
template <class V>
void fields(V& v, NodeGroup& g) {
  v("name", g.name);
  v("nodes", g.nodes);
  v("shadow", g.shadow);
  v("runbooks", g.runbooks);
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
  v("in_order", s.in_order);
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
  v("runbooks", p.runbooks);
  v("shadow", p.shadow);
  v("lemons", p.lemons);
  v("approvals", p.approvals);
  v("windows", p.windows);
  v("groups", p.groups);
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
  v("currency", p.currency);
  v("price_assumed", p.price_assumed);
}

}  // namespace muster
