// Suspicion of silent data corruption: a GPU that computes wrongly and says nothing. Frameworks notice some of it: a step
// computed again gives another result, replicas of the same weights differ, a rank's gradient is no number. Only the job's word,
// so only ever a suspicion of low confidence: to be tested, never acted on alone.
#pragma once
#include <deque>
#include <map>
#include <set>

#include "detect/sign.h"

namespace muster::detect {

class Sdc {
 public:
  void on_record(const JobLogRecord& r, const State& s, Time mono);
  void on_turn(const State& s, Time utc, Time mono, Signs& out);
  Time next() const { return unjudged_.empty() ? kNever : unjudged_.front().due; }

 private:
  using Gpu = std::pair<NodeId, std::int16_t>;
  using RunKey = std::pair<JobId, std::uint32_t>;  // a job's attempt
  struct Run {
    Time at;                              // mono
    std::set<std::pair<Gpu, int>> nan;    // GPUs whose results were no numbers, and their ranks
    std::set<std::pair<Gpu, int>> wrong;  // ... whose results did not repeat, or were not those of their replicas
  };
  struct Due {
    Time due;  // mono: when the run's other ranks have had time to say the same
    RunKey run;
    bool wrong = false;
    std::string who;  // the job, for people
    std::string text;
  };
  bool follows(const Due& due, const Gpu& gpu, int rank) const;
  std::map<RunKey, Run> runs_;  // of the last month
  std::deque<Due> unjudged_;
};

}  // namespace muster::detect
