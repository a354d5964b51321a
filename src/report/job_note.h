// What a list of jobs should say of one beside its numbers: that it can never start, that its deadline is lost, how it ended.
#pragma once
#include <memory>
#include <string>

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

// Whether the queues' limits let a job of this kind start some day; else what stands against it, and what to do.
Result<void> may_ever_start(const State& s, const JobSpec& spec);

}  // namespace muster::report
