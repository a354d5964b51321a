#include "decide/pace/advice.h"

#include <algorithm>

#include "predict/checkpoint.h"

namespace muster::decide {
namespace {

constexpr double kRestart_s = 180;  // where no start of this job has been seen: launch, load, first step
constexpr double kNotice_s = 40;    // from a fault until the gang is stopped and placed again, as the twin's long runs have it

// How long it has had nodes, in hours, over all its attempts.
double ran_h(const State& s, const Job& j) {
  if (j.attempt == 0) return 0;
  const Time end = j.ended.ns != 0 ? j.ended : s.now.utc;
  Duration waited = j.waited + j.paused;
  if (j.phase == JobPhase::queued) waited = waited + (s.mono() - j.queued);
  return std::max(0.0, ((end - j.submitted) - waited).seconds() / 3600);
}

}  // namespace

FailureRate failure_rate(const State& s) {
  FailureRate r;
  for (const auto& [id, j] : s.jobs) {
    r.node_h += ran_h(s, j) * static_cast<double>(j.spec.nodes);
    r.seen += j.restarts - std::min(j.restarts, j.app_failures);
  }
  r.per_node_h = (kPublishedWeight + static_cast<double>(r.seen)) / (kPublishedWeight / kPublishedPerNodeH + r.node_h);
  return r;
}

std::optional<CheckpointView> checkpoint_view(const State& s, const Job& j, const FailureRate& rate) {
  if (j.phase != JobPhase::running) return std::nullopt;
  const Progress& p = j.progress;
  CheckpointView v;
  v.measured = p.checkpoint_ms > 0 ? p.checkpoints : 0;
  if (v.measured > 0) {
    v.stall_s = static_cast<double>(p.checkpoint_ms) / 1000 / v.measured;
  } else if (j.spec.checkpoint_stall_s > 0) {
    v.stall_s = j.spec.checkpoint_stall_s;
  } else {
    return std::nullopt;
  }
  v.failures_per_h = rate.per_node_h * static_cast<double>(j.spec.nodes);
  v.recover_s = kNotice_s + (p.init_ms > 0        ? static_cast<double>(p.init_ms) / 1000
                             : j.spec.init_s >= 0 ? j.spec.init_s
                                                  : kRestart_s);
  const predict::CheckpointAsk ask{v.failures_per_h / 3600, v.stall_s, v.recover_s, 0};
  const predict::CheckpointAdvice best = predict::young_daly(ask);
  v.advised_s = best.interval_s;
  v.useful_advised = best.useful;
  if (j.paced_every.ns > 0) {
    v.every_s = std::max(0.0, j.paced_every.seconds() - v.stall_s);  // a pace counts from one to the next, stall included
  } else if (j.spec.checkpoint_every_s > 0) {
    v.every_s = j.spec.checkpoint_every_s;
  } else if (p.checkpoints > 0) {
    const double run_s = (j.checkpointed - j.started).seconds() - static_cast<double>(p.init_ms + p.checkpoint_ms) / 1000;
    v.every_s = std::max(0.0, run_s / p.checkpoints);
  }
  if (v.every_s <= 0) return v;
  v.useful = predict::useful_share(ask, v.every_s);
  const double gpus = static_cast<double>(milli_gpus(s.site, j.spec)) / 1000;
  v.gpu_h_a_day = std::max(0.0, v.useful_advised - v.useful) * gpus * 24;
  return v;
}

}  // namespace muster::decide
