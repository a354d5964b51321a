#include "trial/llama3_course.h"

#include <algorithm>
#include <numeric>

namespace muster::trial {
namespace {

std::uint32_t free_nodes(const State& s) {
  return static_cast<std::uint32_t>(std::count_if(s.nodes.begin(), s.nodes.end(), [](const NodeState& n) {
    return n.condition == NodeCondition::up && n.hold == Hold::none && !n.incident.some() && n.shares.empty();
  }));
}

double& of(Interruption& i, Part p) { return i.part[static_cast<std::size_t>(p)]; }

struct Break {
  Time at;  // steps stopped
  NodeId node;
  twin::FaultKind cause = twin::FaultKind::gpu_off_bus;
};

// What ended an attempt: the first fault that hit it. One that met a fault from before its start has none: it stopped where its
// own steps say.
Break what_broke(const CourseWatch::Attempt& a, const std::vector<twin::FaultTruth>& truth, const JobSpec& spec) {
  for (const twin::FaultTruth& f : truth) {
    if (f.job.some() && f.began >= a.started && f.began <= a.ended) return {f.began, f.node, f.kind};
  }
  const Progress& p = a.progress;
  const double ran_s = static_cast<double>(p.init_ms + p.checkpoint_ms) / 1e3 +
                       static_cast<double>(p.steps - std::min(p.steps, a.durable_before)) * spec.step_s;
  return {std::min(a.ended, a.started + from_seconds(ran_s)), {}, twin::FaultKind::gpu_off_bus};
}

}  // namespace

double Interruption::recover_s() const { return std::accumulate(part.begin(), part.end(), 0.0); }

void CourseWatch::on_event(const Event& e, const State& s) {
  if (const auto* b = std::get_if<JobSubmitted>(&e.body)) spec_ = b->spec;
  if (std::holds_alternative<JobStarted>(e.body)) {
    Attempt a;
    a.started = e.utc;
    a.durable_before = attempts_.empty() ? 0 : attempts_.back().progress.durable_steps;
    a.progress.durable_steps = a.durable_before;
    attempts_.push_back(a);
    if (!queued_.empty() && queued_.back().to.ns == 0) queued_.back().to = e.utc;
  }
  if (const auto* b = std::get_if<JobProgressed>(&e.body); b != nullptr && !attempts_.empty())
    attempts_.back().progress = b->progress;
  if (const auto* b = std::get_if<JobEnded>(&e.body); b != nullptr && !attempts_.empty()) {
    attempts_.back().ended = e.utc;
    attempts_.back().progress = b->progress;
    attempts_.back().free_nodes = free_nodes(s);
  }
  if (const auto* b = std::get_if<FindingOpened>(&e.body); b != nullptr && b->finding.node.some()) {
    findings_.push_back({e.utc, b->finding.node});
  }
  if (std::holds_alternative<JobRequeued>(e.body)) queued_.push_back({e.utc, {}});
  if (const auto* b = std::get_if<OrderIntended>(&e.body)) {
    const Verb v = b->order.action.verb;
    if (v == Verb::restart_job || v == Verb::requeue_job || v == Verb::start_job) orders_.push_back(e.utc);
    if (v == Verb::start_job && !queued_.empty() && queued_.back().to.ns == 0) queued_.back().to = e.utc;
  }
}

// From the fault (or the end of an attempt that never ran) to the next start, or to the end of the run.
void CourseWatch::add_gap(Interruption& i, NodeId node, Time from, Time ended, Time next) const {
  const auto found =
      std::find_if(findings_.begin(), findings_.end(), [&](const Noted& n) { return n.at >= from && n.node == node; });
  const Time sign = std::min({found == findings_.end() ? kNever : found->at, ended, next});
  const auto order = std::lower_bound(orders_.begin(), orders_.end(), sign);
  const Time ordered = std::min(order == orders_.end() ? next : *order, next);
  double queued = 0;
  for (const Waited& w : queued_) {
    if (w.from < ordered || w.from >= next) continue;
    queued += ((w.to.ns == 0 ? next : std::min(w.to, next)) - w.from).seconds();
  }
  of(i, Part::detect) += (sign - from).seconds();
  of(i, Part::decide) += (ordered - sign).seconds();
  of(i, Part::queue) += queued;
  of(i, Part::hand_over) += (next - ordered).seconds() - queued;
}

Course CourseWatch::course(const std::vector<twin::FaultTruth>& truth, Time begin, Time end) const {
  Course out;
  out.wall_s = (end - begin).seconds();
  const Duration init = from_seconds(std::max(spec_.init_s, 0.0));
  bool open = false;  // an interruption is
  Time idle_since = begin;
  for (std::size_t k = 0; k < attempts_.size(); ++k) {
    const Attempt& a = attempts_[k];
    const Time ended = a.ended.ns == 0 ? end : a.ended;
    const Time steps = a.started + init;  // where its steps begin
    Break broke{end, {}, {}};
    if (a.ended.ns != 0) broke = what_broke(a, truth, spec_);
    if (open) ++out.interruptions.back().attempts;
    if (broke.at < steps || steps > end) {  // it never came so far
      const double in_vain = (ended - a.started).seconds();
      if (open) of(out.interruptions.back(), Part::restart) += in_vain;
      if (!open) out.first_start_s += (ended - idle_since).seconds();
    } else {
      if (open) {
        of(out.interruptions.back(), Part::restart) += (steps - a.started).seconds();
        out.interruptions.back().over = true;
      } else {
        out.first_start_s += (steps - idle_since).seconds();
      }
      const double ran = (broke.at - steps).seconds();
      const double stalls = std::min(ran, static_cast<double>(a.progress.checkpoint_ms) / 1e3);
      out.stall_s += stalls;
      if (a.ended.ns == 0) {
        out.useful_s += ran - stalls;
        break;
      }
      const double kept = static_cast<double>(a.progress.durable_steps - a.durable_before) * spec_.step_s;
      out.useful_s += kept;
      Interruption i;
      i.cause = broke.cause;
      i.began = broke.at;
      i.lost_s = ran - stalls - kept;
      i.spare = a.free_nodes > 0;
      out.interruptions.push_back(i);
      open = true;
    }
    if (a.ended.ns == 0) break;
    idle_since = ended;
    if (!open) continue;
    const Time next = k + 1 < attempts_.size() ? attempts_[k + 1].started : end;
    add_gap(out.interruptions.back(), broke.node, broke.at < steps ? ended : broke.at, ended, next);
  }
  if (attempts_.empty()) out.first_start_s = out.wall_s;
  return out;
}

}  // namespace muster::trial
