// The report of shadow mode: what Muster would have done and did not, what became of it, and whether a person did the same; and
// what its placement would have gained where the engine places. From the record alone; the same object as JSON and as text.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/value.h"
#include "model/state.h"
#include "report/describe.h"
#include "report/incident_report.h"
#include "report/placement_advice.h"

namespace muster::report {

// Listens to all events of a journal.
class ShadowStory {
 public:
  void take(const Event& e);
  std::string json(const Provenance& source) const;

 private:
  // An act that shadow mode held back.
  struct Shadowed {
    Time at;    // utc
    Time mono;  // the same
    Action action;
    IncidentId incident;
    FindingKind cause = FindingKind::gpu_lost;
    std::string rule, sentence;
    std::uint32_t gpus = 0;  // that it would have taken out of service, or whose work it would have stopped
    std::string person;      // who did the same later, or asked for it; empty: nobody
    Time person_at;          // utc
  };
  // How its incident ended; only those in shadow are kept.
  struct Ending {
    Time at;    // utc
    Time mono;  // the same
    std::string how;
  };

  void held_back(const Event& e, const OrderRefused& b);
  void person_did(const Event& e, Verb verb, NodeId node, JobId job, const std::string& who);
  std::string fate(const Shadowed& x) const;  // "person", "in_vain", "open" or "other"

  State state_;
  Time first_, last_;  // utc
  std::vector<Shadowed> acts_;
  std::map<IncidentId, Ending> endings_;
  PlacementAdvice placement_;
};

std::string render_shadow_text(const Value& report, const Page& page);

}  // namespace muster::report
