#include "trial/trace_course.h"

#include <algorithm>
#include <map>

#include "base/check.h"
#include "base/prng.h"
#include "decide/schedule/estimate.h"

namespace muster::trial {
namespace {

constexpr Duration kEstimateMin = seconds(1);
constexpr double kEstimateMaxS = 3e9;  // 95 years: keeps sums of times far from their end

// GPUs of each model; empty for a plain cluster, whose GPUs are whatever a job asks for.
std::map<std::string, std::uint32_t> gpus_by_model(const Site& site) {
  std::map<std::string, std::uint32_t> out;
  for (const NodeSpec& n : site.nodes) out[n.gpu_model.empty() ? site.gpu_model : n.gpu_model] += site.gpus_per_node;
  return out;
}

}  // namespace

Course::Course(std::span<const TraceJob> trace, const ReplaySpec& spec) : gpus_(spec.gpus), free_(spec.gpus) {
  MUSTER_CHECK(spec.site.nodes.empty() || spec.site.gpus() == spec.gpus);
  const auto models = gpus_by_model(spec.site);
  Prng errors(spec.seed, "run-time estimates");
  for (std::uint32_t i = 0; i < trace.size(); ++i) {
    const double error = spec.sigma > 0 ? errors.lognormal(0, spec.sigma) : 1;
    const bool any = models.empty() || trace[i].model.empty();
    const auto found = any ? models.end() : models.find(trace[i].model);
    if (trace[i].gpus > (any ? spec.gpus : found == models.end() ? 0 : found->second)) {
      ++out_.too_large;
      continue;
    }
    CourseJob j;
    j.submitted = j.queued = trace[i].submitted;
    j.run = trace[i].run;
    j.estimate = std::max(kEstimateMin, from_seconds(std::min(j.run.seconds() * error, kEstimateMaxS)));
    j.gpus = trace[i].gpus;
    j.trace_index = i;
    j.model = &trace[i].model;
    jobs_.push_back(j);
  }
  now_ = out_.began = jobs_.empty() ? Time{} : jobs_.front().submitted;
  out_.step = hours(1);
}

void Course::sample(Time until) {
  while (now_ < until) {
    const auto i = static_cast<std::size_t>((now_ - out_.began).ns / out_.step.ns);
    const Time edge = out_.began + out_.step * static_cast<std::int64_t>(i + 1);
    const Time to = std::min(edge, until);
    if (out_.series.size() <= i) out_.series.resize(i + 1);
    const double part = (to - now_).seconds() / out_.step.seconds();
    out_.series[i].queued += part * queued_;
    out_.series[i].used_gpus += part * used_;
    now_ = to;
  }
}

bool Course::step(Time also) {
  Time t = also;
  while (!ends_.empty()) {
    const CourseJob& j = jobs_[ends_.top().job];
    if (j.running && j.attempt == ends_.top().attempt) break;
    ends_.pop();  // stopped meanwhile
  }
  if (next_ < jobs_.size()) t = std::min(t, jobs_[next_].submitted);
  if (!ends_.empty()) t = std::min(t, ends_.top().at);
  if (t == kNever || (over() && next_ == jobs_.size())) return false;
  sample(std::max(t, now_));
  came_.clear();
  went_.clear();
  while (!ends_.empty() && ends_.top().at <= now_) {
    const End e = ends_.top();
    ends_.pop();
    CourseJob& j = jobs_[e.job];
    if (!j.running || j.attempt != e.attempt) continue;
    j.running = false;
    j.ended = now_;
    free_ += j.gpus;
    used_ -= j.gpus;
    ++done_;
    out_.useful_gpu_s += j.run.seconds() * j.gpus;
    out_.lost_gpu_s += j.restart.seconds() * j.gpus;
    went_.push_back(e.job);
  }
  for (; next_ < jobs_.size() && jobs_[next_].submitted <= now_; ++next_) {
    came_.push_back(static_cast<std::uint32_t>(next_));
    ++queued_;
  }
  return true;
}

void Course::start(std::uint32_t job, double slowness) {
  CourseJob& j = jobs_[job];
  MUSTER_CHECK(!j.running && j.gpus <= free_);
  if (!j.started_once) j.first_wait = now_ - j.submitted;
  if (j.pauses > 0) j.paused = j.paused + (now_ - j.queued);
  j.restart = j.started_once ? kRestart : Duration{};
  j.started_once = true;
  j.running = true;
  ++j.attempt;
  j.slowness = slowness;
  j.started = now_;
  j.ends = now_ + j.restart + from_seconds((j.run - j.kept).seconds() * slowness);
  j.expected_end = decide::expected_end(now_, std::max(j.estimate - j.kept, Duration{}), now_);
  free_ -= j.gpus;
  used_ += j.gpus;
  --queued_;
  ends_.push({j.ends, job, j.attempt});
}

Duration Course::progress(std::uint32_t job) const {
  const CourseJob& j = jobs_[job];
  const Duration useful = now_ - j.started - j.restart;
  if (useful.ns <= 0) return j.kept;
  return j.kept + (j.slowness == 1 ? useful : from_seconds(useful.seconds() / j.slowness));
}

Duration Course::unsafe(std::uint32_t job) const {
  const Duration done = progress(job);
  const Duration safe{done.ns / kCheckpoint.ns * kCheckpoint.ns};
  return done - std::max(safe, jobs_[job].kept);
}

void Course::stop(std::uint32_t job, bool saves_now) {
  CourseJob& j = jobs_[job];
  MUSTER_CHECK(j.running);
  const Duration lost = saves_now ? Duration{} : unsafe(job);
  out_.lost_gpu_s += (lost + std::min(j.restart, now_ - j.started)).seconds() * j.gpus;
  j.kept = progress(job) - lost;
  j.running = false;
  j.queued = now_;
  free_ += j.gpus;
  used_ -= j.gpus;
  ++queued_;
}

bool Course::correct(std::uint32_t job) {
  CourseJob& j = jobs_[job];
  if (j.expected_end > now_) return false;
  j.expected_end = decide::expected_end(j.started, std::max(j.estimate - j.kept, Duration{}), now_);
  return true;
}

Replay Course::finish() {
  out_.ended = now_;
  for (const CourseJob& j : jobs_) {
    const Time ended = j.running ? j.ends : j.ended == Time{} ? kNever : j.ended;
    out_.jobs.push_back({j.trace_index, j.gpus, j.submitted, j.run, ended, j.pauses, j.failures});
    out_.pauses += j.pauses;
  }
  return std::move(out_);
}

double JobOutcome::wait_s() const { return std::max(0.0, (ended - submitted - run).seconds()); }

double JobOutcome::slowdown() const { return std::max(1.0, (wait_s() + run.seconds()) / std::max(run.seconds(), 10.0)); }

double Replay::utilisation(std::uint32_t gpus) const {
  const double whole = (ended - began).seconds() * gpus;
  return whole > 0 ? useful_gpu_s / whole : 0;
}

}  // namespace muster::trial
