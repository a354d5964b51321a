// Upgrade: another version of a driver, firmware or system, brought to many nodes a few at a time while the cluster works. First
// to a few canaries that are watched, then to the rest; a version that does harm is taken back.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "model/fields.h"

namespace muster {

// One of several things that a node gets in the same turn.
struct UpgradePart {
  std::string what;     // "driver", "fabricmanager", "firmware"
  std::string version;  // wanted
  std::string before;   // to go back to
};

// What must not span nodes with the new version and nodes without: a whole job, or the nodes that it has within one NVLink
// domain.
enum class ApartWithin : std::uint8_t { job, domain };
constexpr std::array<std::string_view, 2> names(ApartWithin) { return {"job", "domain"}; }

struct UpgradeSpec {
  std::string what = "driver";     // driver, firmware, os
  std::string version;             // wanted
  std::string before;              // to go back to; empty: nobody knows, and it is never taken back by itself
  std::string nodes;               // "node[001-064]"; empty: all
  std::uint32_t canaries = 0;      // nodes that go first; 0: one in a hundred, three at least
  Duration watch = hours(1);       // canaries work so long before the rest follows; and every node is watched so long
  double at_once_pct = 5;          // nodes out of service for it at one time, in percent of all; one at least
  Duration finish_in = hours(24);  // work that ends by itself before then is left alone; other work moves at a checkpoint
  std::vector<UpgradePart> parts;  // in the order in which a node gets them, all in one turn; empty: `what` alone
  std::string canary_nodes;        // those that go first; empty: they are chosen
  std::string apart;               // why no job may run on nodes with it and nodes without; empty: it may
  ApartWithin apart_within = ApartWithin::job;
  bool wait_for_jobs = false;  // no job is stopped or moved for it: its nodes wait for its end
  bool measured = false;       // a node is measured before it is installed as well as after; who got slower is told apart
};

enum class UpgradePhase : std::uint8_t {
  none,
  canary,
  waves,
  stopping,  // what is under way is brought to its end; nothing is begun
  rolling_back,
  done,
  stopped,
  rolled_back,
};
constexpr std::array<std::string_view, 8> names(UpgradePhase) {
  return {"none", "canary", "waves", "stopping", "rolling_back", "done", "stopped", "rolled_back"};
}
constexpr bool at_work(UpgradePhase p) {
  return p == UpgradePhase::canary || p == UpgradePhase::waves || p == UpgradePhase::stopping || p == UpgradePhase::rolling_back;
}

enum class TurnStage : std::uint8_t {
  draining,
  measuring,  // as it was before: what comes after is held against it
  installing,
  testing,
  returning,
  kept,     // upgraded, tested and in service, but kept free: a gang is to move there at its next checkpoint
  watched,  // upgraded and in service
  done,     // and nothing bad was seen for as long as it was watched
  bad,      // installing or the test after it failed, or a fault struck soon after
  skipped,  // it has the version already, or a person holds it
};
constexpr std::array<std::string_view, 10> names(TurnStage) {
  return {"draining", "measuring", "installing", "testing", "returning", "kept", "watched", "done", "bad", "skipped"};
}
// Out of service for it, or about to be.
constexpr bool is_out(TurnStage t) { return t <= TurnStage::returning; }

struct Turn {
  TurnStage stage = TurnStage::draining;
  bool back = false;       // the old version is brought back
  bool installed = false;  // the new version is on it, as far as is known
  bool canary = false;
  std::string pending;  // key of the order it waits for; empty: none
  std::uint32_t tries = 0;
  Time since;     // mono, of this stage
  Time returned;  // mono; to service with the new version; 0: not yet
  std::string note;
  double score_before = 0, score_after = 0;  // what its tests gave, see OrderEnded::score; 0: not known
};

struct Upgrade {
  std::uint64_t id = 0;  // 0: there was none
  UpgradeSpec spec;
  UpgradePhase phase = UpgradePhase::none;
  std::string by;
  std::string why;  // of the last change of phase
  Time began;       // utc
  Time ended;       // utc; 0: it runs
  Time began_mono;
  Time since;                    // mono, of this phase
  Time due;                      // mono; look again then
  std::uint32_t baseline = 0;    // incidents on these nodes in the 28 days before, for comparison
  std::map<NodeId, Turn> turns;  // nodes not in it have not had their turn
};

template <class V>
void fields(V& v, UpgradePart& p) {
  v("what", p.what);
  v("version", p.version);
  v("before", p.before);
}
template <class V>
void fields(V& v, UpgradeSpec& s) {
  v("what", s.what);
  v("version", s.version);
  v("before", s.before);
  v("nodes", s.nodes);
  v("canaries", s.canaries);
  v("watch", s.watch);
  v("at_once_pct", s.at_once_pct);
  v("finish_in", s.finish_in);
  v("parts", s.parts);
  v("canary_nodes", s.canary_nodes);
  v("apart", s.apart);
  v("apart_within", s.apart_within);
  v("wait_for_jobs", s.wait_for_jobs);
  v("measured", s.measured);
}
template <class V>
void fields(V& v, Turn& t) {
  v("stage", t.stage);
  v("back", t.back);
  v("installed", t.installed);
  v("canary", t.canary);
  v("pending", t.pending);
  v("tries", t.tries);
  v("since", t.since);
  v("returned", t.returned);
  v("note", t.note);
  v("score_before", t.score_before);
  v("score_after", t.score_after);
}
template <class V>
void fields(V& v, Upgrade& u) {
  v("id", u.id);
  v("spec", u.spec);
  v("phase", u.phase);
  v("by", u.by);
  v("why", u.why);
  v("began", u.began);
  v("ended", u.ended);
  v("began_mono", u.began_mono);
  v("since", u.since);
  v("due", u.due);
  v("baseline", u.baseline);
  v("turns", u.turns);
}

}  // namespace muster
