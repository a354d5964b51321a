// What a list of jobs should say of one beside its numbers: that it can never start, that its deadline is lost, how it ended.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/state.h"

namespace muster::report {

class JobNotes {
 public:
  explicit JobNotes(const State& s);
  ~JobNotes();
  JobNotes(const JobNotes&) = delete;
  JobNotes& operator=(const JobNotes&) = delete;

  // Empty: nothing to say.
  std::string of(const Job& j) const;

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

// The jobs of an array, by phase.
std::map<JobPhase, std::vector<JobId>> members_by_phase(const State& s, const std::vector<JobId>& members);

// The name of an array by that of one of its members: "sweep" of "sweep_3".
std::string array_name(const Job& member);

// That its time limit ends it before it is done, by its own word of steps and their length. Empty: it does not.
std::string limit_too_short(const State& s, const Job& j);

// That its account is no queue of the policy and it names none, so that no queue's limit holds it. Empty: it has its queue.
std::string in_no_queue(const State& s, const JobSpec& spec);

// Whether the queues' limits let a job of this kind start some day; else what stands against it, and what to do.
Result<void> may_ever_start(const State& s, const JobSpec& spec);

}  // namespace muster::report
