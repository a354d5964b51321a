// Score: the findings held against the truth: what was found, what was missed, what was no fault at all, and how long it took to
// heal.
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "model/state.h"
#include "twin/fault.h"

namespace muster::trial {

struct Marks {
  std::uint64_t injected = 0;  // faults of the cluster; users' bugs are not among them
  std::uint64_t detected = 0;
  std::uint64_t missed = 0;
  std::uint64_t false_alarms = 0;  // nodes drained by Muster without any fault
  std::uint64_t unfinished = 0;    // neither over nor in a person's hands at the end
  std::uint64_t left_to_people = 0;  // still there at the end, found, and by the policy's own word not for Muster to mend
  std::uint64_t healed = 0;       // faults whose node came back: what the next two are taken over
  double mttr_p50_s = 0;           // fault to node back in service
  double mttr_p99_s = 0;
  // The same over every fault of a node, so that a policy which heals fewer does not look quicker: what ended without an incident
  // counts until its end, what is still there until the end of the history.
  std::uint64_t on_nodes = 0;
  double outage_p50_s = 0;
  double outage_p99_s = 0;
  std::uint64_t most_out = 0;  // nodes out of service by Muster at one moment
  std::map<std::string, std::uint64_t> missed_kinds;
  std::map<std::string, std::uint64_t> false_kinds;  // of findings, for the false alarms
};

class Score {
 public:
  // What a fork begins with: what is known and under way is not to be found again.
  void begin(const State& s);
  void on_event(const Event& e, const State& s);
  // `end`: utc of the end; faults that began within `grace` before it need not be found yet.
  Marks marks(const std::vector<twin::FaultTruth>& truth, const State& s, Time end, Duration grace) const;
  // Whose an active fault is at the end: a person's because all that may be done was done (held), or because the policy leaves
  // what was found of it to people; nobody's where neither holds.
  enum class Hands : std::uint8_t { nobody, held, policy };
  Hands hands_of(const twin::FaultTruth& f, const State& s) const;

 private:
  struct Seen {
    Time at;
    FindingKind kind;
    std::int32_t code;
  };
  struct Span {
    Time opened;
    Time closed;  // 0 while open
    bool drained = false;
    FindingKind cause = FindingKind::gpu_lost;  // when it opened
  };
  bool is_left_to_people(const twin::FaultTruth& f, const State& s) const;

  std::vector<Runbook> shipped_ = default_runbooks();
  std::map<NodeId, std::vector<Seen>> findings_;  // node none: the site
  std::map<IncidentId, std::pair<NodeId, Span>> incidents_;
  std::size_t most_out_ = 0;
};

}  // namespace muster::trial
