#include "model/fold_jobs.h"

namespace muster {

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

}  // namespace muster
