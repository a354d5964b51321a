// Actions: what Muster asks an engine to do, why, and what came of it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "model/fields.h"
#include "model/finding.h"
#include "model/job.h"

namespace muster {

enum class Verb : std::uint8_t {
  submit_job,
  start_job,
  requeue_job,  // stop it if it runs, and put it back in the queue, to continue from its last checkpoint
  fail_job,     // give it up
  cancel_job,
  drain_node,  // no new work; what runs goes on
  undrain_node,
  probe_node,  // read everything of the node at once
  test_node,   // a few minutes of known work, with the node empty
  reset_gpu,
  reboot_node,
  power_cycle_node,
  replace_node,   // a person swaps the part or the node
  restart_job,    // stop it if it runs, and start it at once on these nodes from its last checkpoint: not back into the queue
  limit_power,    // of all GPUs of these nodes, to limit_pct of what they may draw; 100 lifts it. Work goes on, slower
  reload_driver,  // unload the GPU driver of a node and load it again
  bounce_link,    // take a NIC's port down and up again
  install,        // another version of a node's driver, firmware or system, with the reboot it needs; the node is empty
  pace_job,       // tell a running job how often to write its checkpoints, and when the next
};
constexpr std::array<std::string_view, 19> names(Verb) {
  return {"submit_job",  "start_job",     "requeue_job", "fail_job",    "cancel_job",       "drain_node",   "undrain_node",
          "probe_node",  "test_node",     "reset_gpu",   "reboot_node", "power_cycle_node", "replace_node", "restart_job",
          "limit_power", "reload_driver", "bounce_link", "install",     "pace_job"};
}

// Settles what becomes of a gang that broke.
constexpr bool about_broken(Verb v) { return v == Verb::requeue_job || v == Verb::fail_job || v == Verb::restart_job; }
// Takes capacity or work away: budgets and breakers apply.
bool harmful(Verb v);
// Ends or may end a program that runs on the node.
bool destroys_work(Verb v);
// Concerns a node's health (as opposed to the queue).
bool on_node(Verb v);

struct Action {
  Verb verb = Verb::probe_node;
  NodeId node;
  std::int16_t slot = -1;
  JobId job;
  std::uint32_t attempt = 0;         // of the job, where there is one
  std::vector<NodeId> nodes;         // start_job, restart_job: the gang; limit_power: a row
  std::vector<std::uint16_t> slots;  // GPUs on each, as a bit mask; empty: all of each
  Duration pause;                    // requeue_job: not wanted back before this is over
  JobId for_job;                     // requeue_job: who is to have what it leaves
  JobSpec spec;                      // submit_job
  std::uint32_t limit_pct = 100;     // limit_power
  std::string version;               // install: "driver 580.105.08"
  Duration every;                    // pace_job: from one checkpoint to the next
  Time next;                         // pace_job: utc of the next one
  std::string dossier;               // replace_node: what whoever repairs it needs to know; text
};

// Something that was considered, with what it would cost. The first of a list is what was chosen.
struct Option {
  std::string what;        // "swap in a spare now"
  double cost_gpu_h = -1;  // useful GPU-hours expected to be lost; below 0: not possible, or not known
  std::string why;         // why that much, or why not possible
};

struct Reason {
  std::string rule;                       // e.g. "recover/gpu_lost/drain"
  std::string sentence;                   // plain words
  std::vector<FindingId> findings;        // evidence
  std::vector<std::string> alternatives;  // what else was considered, and why not
  std::vector<Option> options;            // where costs were weighed: what was chosen, then what was not
  std::string book;                       // runbook and version it follows, "gpu_lost/1"; empty: none
  std::string budget;                     // state of the tightest limit when it passed
  IncidentId incident;
  std::uint64_t upgrade = 0;  // the rolling upgrade it is part of; 0: none
  std::string actor;          // "muster" or the operator's name
  std::string wish;           // id of the command it carries out; empty: Muster's own idea
};

struct Order {
  std::string key;  // unique for ever; an engine acts on a key once
  std::uint64_t epoch = 0;
  Time not_after;  // utc; an engine that gets it later refuses
  Action action;
  Reason reason;
};

enum class Status : std::uint8_t {
  pending,
  done,
  failed,        // tried, did not work; a failed test is this
  refused,       // the engine said no and did nothing
  unknown,       // sent, no answer: being resolved by reading the engine
  not_received,  // the engine never got it: nothing was done
};
constexpr std::array<std::string_view, 6> names(Status) {
  return {"pending", "done", "failed", "refused", "unknown", "not_received"};
}

template <class V>
void fields(V& v, Action& a) {
  v("verb", a.verb);
  v("node", a.node);
  v("slot", a.slot);
  v("job", a.job);
  v("attempt", a.attempt);
  v("nodes", a.nodes);
  v("slots", a.slots);
  v("pause", a.pause);
  v("for_job", a.for_job);
  v("spec", a.spec);
  v("limit_pct", a.limit_pct);
  v("version", a.version);
  v("every", a.every);
  v("next", a.next);
  v("dossier", a.dossier);
}
template <class V>
void fields(V& v, Option& o) {
  v("what", o.what);
  v("cost_gpu_h", o.cost_gpu_h);
  v("why", o.why);
}
template <class V>
void fields(V& v, Reason& r) {
  v("rule", r.rule);
  v("sentence", r.sentence);
  v("findings", r.findings);
  v("alternatives", r.alternatives);
  v("options", r.options);
  v("book", r.book);
  v("budget", r.budget);
  v("incident", r.incident);
  v("upgrade", r.upgrade);
  v("actor", r.actor);
  v("wish", r.wish);
}
template <class V>
void fields(V& v, Order& o) {
  v("key", o.key);
  v("epoch", o.epoch);
  v("not_after", o.not_after);
  v("action", o.action);
  v("reason", o.reason);
}

}  // namespace muster
