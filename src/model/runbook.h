// Runbooks: what may be done about each kind of fault, as data. A policy has one for each kind of finding, and may have further
// ones for single codes of a kind; docs/formats/runbook.md is the format's page, data/runbooks has those that ship.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "model/action.h"
#include "model/finding.h"

namespace muster {

// What becomes of the job that the fault touches.
enum class JobCare : std::uint8_t {
  wait,        // it may end by itself
  requeue,     // it is stopped and goes on elsewhere, given a second witness: it hangs, or would soon
  checkpoint,  // it goes on until the moment at which moving it costs least, most often its next checkpoint
};
constexpr std::array<std::string_view, 3> names(JobCare) { return {"wait", "requeue", "checkpoint"}; }

struct Runbook {
  std::string name;           // unique in a policy: "gpu_lost", "ecc_contained"
  std::uint32_t version = 1;  // of its words; part of what the record says about a decision
  FindingKind kind = FindingKind::gpu_lost;
  std::vector<std::int32_t> codes;  // Xids it is for; empty: all of the kind that no other runbook names
  bool act = true;                  // false: note it, watch it
  JobCare job = JobCare::wait;
  bool test_first = false;     // suspicion only: nothing is repaired before a test has failed
  bool window = false;         // can wait: only in the policy's maintenance windows, if it has any
  std::vector<Verb> steps;     // repairs, tried in order, each followed by a test
  std::uint32_t skip_7d = 2;   // the node had so many such incidents within 7 days: begin one step further; twice as many: two
  std::uint32_t last_28d = 5;  // and so many within 28 days: begin with the last step. 0, both: never
};

// The steps a runbook may have: each is a repair. Drains, tests and what happens to jobs are the controller's own.
constexpr std::array<Verb, 6> kRepairs = {Verb::reset_gpu,   Verb::reload_driver,    Verb::bounce_link,
                                          Verb::reboot_node, Verb::power_cycle_node, Verb::replace_node};
constexpr bool is_repair(Verb v) { return std::find(kRepairs.begin(), kRepairs.end(), v) != kRepairs.end(); }

// The one for this code, else the one for all of the kind; none: the kind is watched.
const Runbook* find_runbook(const std::vector<Runbook>& all, FindingKind kind, std::int32_t code);
// Those that ship, without their words for people.
std::vector<Runbook> default_runbooks();

template <class V>
void fields(V& v, Runbook& r) {
  v("name", r.name);
  v("version", r.version);
  v("kind", r.kind);
  v("codes", r.codes);
  v("act", r.act);
  v("job", r.job);
  v("test_first", r.test_first);
  v("window", r.window);
  v("steps", r.steps);
  v("skip_7d", r.skip_7d);
  v("last_28d", r.last_28d);
}

}  // namespace muster
