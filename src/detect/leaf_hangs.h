// A leaf switch under which jobs of different owners hang or lose nodes while jobs elsewhere do not, and no node of theirs has a
// fault that would explain it: the switch drops or delays packets and tells nobody. Seen in jobs alone, whose logs their users
// write: new work avoids the leaf, and nothing is done to its nodes.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "detect/sign.h"
#include "model/event.h"

namespace muster::detect {

class LeafHangs {
 public:
  void take_over(const Finding& f, Time mono);
  void on_record(const JobLogRecord& r, const State& s, Time mono);
  // Before the event is folded: a job that has ended has no nodes any more.
  void on_event(const Body& b, const State& s, Time mono);
  // It asks for no turn of its own: minutes do not matter here.
  void on_turn(const State& s, Time utc, Time mono, Signs& out);

 private:
  struct Case {  // a job that hung or lost a node
    Time at;     // mono
    std::string owner;
    std::vector<NodeId> nodes;
    Witness witness = Witness::job;
    bool excused = false;  // a node of it has a fault that is known
  };
  struct Choice {
    std::uint32_t leaf = 0;
    double chance = 1;  // that so many of the struck jobs lie there without a reason
    std::size_t struck = 0, there = 0, elsewhere = 0, jobs = 0;
  };
  void note(JobId id, const State& s, Time mono, Witness witness);
  void judge(const State& s, Time utc, Time mono, Signs& out);
  std::optional<Choice> choose(const State& s, const std::map<JobId, const Case*>& struck) const;

  std::map<JobId, Case> cases_;         // of the policy's window
  std::map<std::uint32_t, Time> open_;  // leaves that were named, with the mono time of the last job that hung there
  Time due_ = kNever;                   // mono: judged then
};

}  // namespace muster::detect
