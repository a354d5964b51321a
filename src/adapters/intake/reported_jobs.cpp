#include "adapters/intake/reported_jobs.h"

#include <algorithm>

namespace muster {

std::optional<Believed> ReportedJobs::take(const JobReport& r, JobId job, NodeId from, Duration age, const State& s) {
  const Job* j = job.some() ? find_job(s, job) : nullptr;
  if (j == nullptr || j->phase != JobPhase::running) return std::nullopt;
  if (std::find(j->nodes.begin(), j->nodes.end(), from) == j->nodes.end()) return std::nullopt;
  if (r.attempt != 0 && r.attempt != j->attempt) return std::nullopt;
  const Duration runs = s.now.utc - j->started;
  if (age > runs) return std::nullopt;  // said by the attempt before
  if (told_.size() > s.placed.size() + 64) std::erase_if(told_, [&](const auto& t) { return s.placed.count(t.first) == 0; });
  Told& t = told_[job];
  if (t.attempt != j->attempt) {
    t = Told{};
    t.attempt = j->attempt;
  }
  Progress& p = t.progress;
  p.steps = std::max(p.steps, j->progress.steps);
  p.durable_steps = std::max(p.durable_steps, j->progress.durable_steps);
  p.init_ms = std::max(p.init_ms, j->progress.init_ms);
  p.checkpoint_ms = std::max(p.checkpoint_ms, j->progress.checkpoint_ms);
  p.slow_ms = std::max(p.slow_ms, j->progress.slow_ms);
  p.checkpoints = std::max(p.checkpoints, j->progress.checkpoints);
  Believed out;
  if (r.step >= 0) p.steps = std::max(p.steps, static_cast<std::uint64_t>(r.step));
  const bool fresh = r.saved_step >= 0 && static_cast<std::uint64_t>(r.saved_step) > p.durable_steps;
  // How long it took may be told in a second word about the same checkpoint.
  const bool timing = !fresh && r.saved_step >= 0 && r.saved_step == t.saved_step && !t.timed && r.saving_s >= 0;
  if (fresh) {
    p.durable_steps = static_cast<std::uint64_t>(r.saved_step);
    p.steps = std::max(p.steps, p.durable_steps);
    t.saved_step = r.saved_step;
    t.timed = r.saving_s >= 0;
  }
  if ((fresh && t.timed) || timing) {
    t.timed = true;
    ++p.checkpoints;
    // It cannot have stood still for longer than it has run.
    p.checkpoint_ms = std::min(p.checkpoint_ms + static_cast<std::int64_t>(r.saving_s * 1000), runs.ns / 1'000'000);
  }
  if (fresh || timing) out.saved = JobProgressed{job, j->attempt, p};
  if (r.step >= 0 && r.step_s > 0) out.step = StepReport{{}, job, j->attempt, static_cast<std::uint64_t>(r.step), r.step_s};
  return out;
}

}  // namespace muster
