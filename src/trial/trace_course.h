// What every replay of a trace has in common: jobs with their estimates, arrivals and ends in order of time, and the book-keeping
// of who has run for how long. Policies decide; the course carries it out.
#pragma once
#include <functional>
#include <queue>
#include <span>
#include <vector>

#include "trial/trace_replay.h"

namespace muster::trial {

struct CourseJob {
  Time submitted;
  Duration run;       // true
  Duration estimate;  // of all of it
  std::uint32_t gpus = 1;
  std::uint32_t trace_index = 0;
  const std::string* model = nullptr;  // in the trace
  bool running = false;
  bool started_once = false;
  std::uint32_t attempt = 0;
  std::uint32_t pauses = 0;
  std::uint32_t failures = 0;
  Time queued;          // since when it waits
  Duration first_wait;  // until its first start
  Duration paused;      // in all pauses
  Duration kept;        // useful run time safe in checkpoints
  Duration restart;     // of this attempt, before useful work
  double slowness = 1;  // of this attempt
  Time started;         // of this attempt
  Time ends;            // of this attempt
  Time expected_end;    // of this attempt, as the policies see it
  Time ended;
};

class Course {
 public:
  Course(std::span<const TraceJob> trace, const ReplaySpec& spec);

  // Goes to the next moment at which something happens: jobs that come are queued, jobs that end give back. False at the end.
  // `also`: a moment of the policy's own, kNever for none.
  bool step(Time also = kNever);
  Time now() const { return now_; }
  const std::vector<std::uint32_t>& came() const { return came_; }
  const std::vector<std::uint32_t>& went() const { return went_; }

  void start(std::uint32_t job, double slowness = 1);
  // Stops a running job and queues it. Work since its last checkpoint is lost, unless it makes one now.
  void stop(std::uint32_t job, bool saves_now);
  // Useful run time so far, and the part of it that a stop would lose.
  Duration progress(std::uint32_t job) const;
  Duration unsafe(std::uint32_t job) const;
  // Where the estimate has passed, the corrected end; true when it changed.
  bool correct(std::uint32_t job);

  std::vector<CourseJob>& jobs() { return jobs_; }
  std::uint32_t free() const { return free_; }
  void add_free(std::int64_t gpus) { free_ = static_cast<std::uint32_t>(free_ + gpus); }
  std::uint32_t gpus() const { return gpus_; }
  bool over() const { return done_ == jobs_.size(); }
  double done() const { return jobs_.empty() ? 1 : static_cast<double>(done_) / static_cast<double>(jobs_.size()); }
  Replay finish();

 private:
  void sample(Time until);

  struct End {
    Time at;
    std::uint32_t job;
    std::uint32_t attempt;
    auto operator<=>(const End&) const = default;
  };

  std::vector<CourseJob> jobs_;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::vector<std::uint32_t> came_, went_;
  std::size_t next_ = 0;
  std::size_t done_ = 0;
  std::uint32_t gpus_;
  std::uint32_t free_;
  std::uint32_t queued_ = 0;
  std::uint32_t used_ = 0;
  Time now_;
  Replay out_;
};

}  // namespace muster::trial
