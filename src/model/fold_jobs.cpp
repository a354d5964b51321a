#include "model/fold_jobs.h"

namespace muster {

bool new_life(State& s, JobId id, std::uint32_t& attempt) {
  const auto was = s.jobs.find(id);
  if (was == s.jobs.end()) return true;
  if (!ended(was->second.phase)) return false;
  attempt = was->second.attempt;
  std::erase(s.ended_jobs, id);
  const auto array = s.ended_members.find(id.number);
  if (id.array_index != 0 && array != s.ended_members.end() && --array->second == 0) s.ended_members.erase(array);
  s.jobs.erase(was);
  return true;
}

void amend_job(State& s, const JobAmended& b) {
  const auto it = s.jobs.find(b.job);
  if (it == s.jobs.end() || ended(it->second.phase)) return;
  it->second.spec = b.spec;
  if (it->second.phase == JobPhase::queued) s.queue_dirty = true;
}

void forget_place(State& s, Job& j) {
  j.nodes.clear();
  j.slots.clear();
  s.placed.erase(j.id);
  s.queue_dirty = true;
}

void add_run(State& s, Job& j, JobEnd end, Duration lasted, Duration since_checkpoint) {
  const Duration lost = end == JobEnd::completed ? Duration{} : since_checkpoint;
  j.ran = j.ran + std::max(Duration{}, lasted - lost);
  if (end == JobEnd::completed) s.histories.add(j.spec.user, j.spec.name, j.ran);
}

void tell_followers(State& s, JobId id, bool completed) {
  for (auto f = s.followers.begin(); f != s.followers.end();) {
    Job& waiting = s.jobs.at(*f);
    if (std::erase(waiting.waits_for, id) > 0 && !completed) waiting.hopeless = true;
    f = waiting.waits_for.empty() ? s.followers.erase(f) : std::next(f);
  }
}

}  // namespace muster
