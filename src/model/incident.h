// Incidents: one piece of trouble on one node, from its first finding until the node works again or a person has it.
#pragma once
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "model/fields.h"
#include "model/finding.h"

namespace muster {

enum class Stage : std::uint8_t {
  opened,     // nothing done yet
  watching,   // no act by policy: the finding is noted and watched
  draining,   // drain ordered
  emptying,   // drained; waits for the job on it to end, or for its requeue
  repairing,  // a rung of the ladder is being tried
  testing,
  returning,  // undrain ordered
  held,       // Muster has done what it may; a person has it
  closed,
};
constexpr std::array<std::string_view, 9> names(Stage) {
  return {"opened", "watching", "draining", "emptying", "repairing", "testing", "returning", "held", "closed"};
}

struct Note {
  Time at;  // utc
  std::string text;
};

struct Incident {
  IncidentId id;
  NodeId node;                     // none: the site
  FindingKind cause = FindingKind::gpu_lost;  // the gravest finding so far
  std::int16_t slot = -1;
  std::int32_t code = 0;
  JobId job;                       // that ran there when it opened
  std::vector<FindingId> findings;
  Stage stage = Stage::opened;
  std::uint32_t rung = 0;          // step of the ladder being or to be tried
  std::uint32_t tries = 0;         // orders given so far; part of their keys
  std::string pending;             // key of the order it waits for; empty: none
  Time due;                        // mono; look again then, even if nothing happens
  Time since;                      // mono; when the stage began
  bool probed = false;             // the node has been asked for everything it knows
  bool repaired = false;           // this rung's repair was ordered: a test that fails now means the next rung
  bool disproved = false;          // a test has failed: the fault is real, whoever reported it
  std::uint32_t repairs = 0;       // steps of the runbook tried so far
  Time opened;                     // utc
  Time closed;                     // utc; 0 while open
  std::string resolution;          // how it ended
  std::vector<Note> notes;         // its story, newest last, bounded
};

template <class V>
void fields(V& v, Note& n) {
  v("at", n.at);
  v("text", n.text);
}
template <class V>
void fields(V& v, Incident& i) {
  v("id", i.id);
  v("node", i.node);
  v("cause", i.cause);
  v("slot", i.slot);
  v("code", i.code);
  v("job", i.job);
  v("findings", i.findings);
  v("stage", i.stage);
  v("rung", i.rung);
  v("tries", i.tries);
  v("pending", i.pending);
  v("due", i.due);
  v("since", i.since);
  v("probed", i.probed);
  v("repaired", i.repaired);
  v("disproved", i.disproved);
  v("repairs", i.repairs);
  v("opened", i.opened);
  v("closed", i.closed);
  v("resolution", i.resolution);
  v("notes", i.notes);
}

}  // namespace muster
