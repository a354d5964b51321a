#include "trial/waits.h"

namespace muster::trial {
namespace {

bool counts(const Job& j) { return j.spec.after.empty() && ready(j); }

// In all, up to this moment.
Duration so_far(const Job& j, Time mono) { return j.waited + (j.phase == JobPhase::queued ? mono - j.queued : Duration{}); }

}  // namespace

void Waits::begin(const State& s) {
  for (const auto& [id, j] : s.jobs) {
    if (!ended(j.phase)) before_[id] = so_far(j, s.mono());
  }
}

void Waits::on_event(const Event& e, const State& s) {
  const auto* started = std::get_if<JobStarted>(&e.body);
  const Job* j = started == nullptr ? nullptr : find_job(s, started->job);
  if (j != nullptr && counts(*j)) waited_[j->id] = j->waited;
}

Waited Waits::at_end(const State& s, Time mono) const {
  std::map<JobId, Duration> all = waited_;
  for (const auto& [id, j] : s.jobs) {
    if (j.phase == JobPhase::queued && counts(j)) all[id] = so_far(j, mono);
  }
  Waited out;
  double sum_s = 0;
  for (const auto& [id, waited] : all) {
    const auto earlier = before_.find(id);
    sum_s += (waited - (earlier == before_.end() ? Duration{} : earlier->second)).seconds();
  }
  out.jobs = all.size();
  out.mean_s = all.empty() ? 0 : sum_s / static_cast<double>(all.size());
  return out;
}

}  // namespace muster::trial
