// DeepSpeed's own lines of progress. They tell a step's time only through something else: samples a second (timer.py), timers
// of phases (wall_clock_breakdown), or when they were written; the pipeline engine alone prints it.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "model/step_log.h"

namespace muster {

class DeepSpeedLines {
 public:
  // What a line says of a step; none: it is no line of progress.
  std::optional<StepSample> progress(std::string_view line);
  // A line of timers: "rank=0 time (ms) | fwd: 12.3 | bwd: 45.6 | step: 7.8".
  void timers(std::string_view line, std::uint32_t number);

  // What its configuration, as the log has it, says of the run.
  void settings(StepLog& out) const;
  // Times of `out.steps`, which are those that `progress` gave: the first way that the log has material for.
  void time_steps(StepLog& out) const;
  // Timers are printed for one micro-batch, for a step, or (by the pipeline engine) for all steps since the last line.
  void scale_timers(StepLog& out) const;

  double used_memory_gb() const { return used_memory_gb_; }

 private:
  std::optional<StepSample> throughput(std::string_view line);
  std::optional<StepSample> pipeline(std::string_view line);
  std::optional<StepSample> learning(std::string_view line);
  bool time_by_timers(StepLog& out) const;

  // A step's time by its own timers, or several steps' by those of their micro-batches.
  struct Timed {
    std::uint64_t step = 0;
    double time_s = 0;
    double at_s = 0;
    std::uint32_t line = 0;  // its number
  };
  std::vector<Timed> whole_, pieces_;
  double pieces_s_ = 0;      // of micro-batches since the last line of progress
  std::uint64_t told_ = 0;   // the last step that was told,
  bool told_now_ = false;    // by a line that no line of samples a second has followed yet
  bool timed_since_ = true;  // a line of timers has followed it
  std::int64_t ahead_ = 0;   // of timer.py's count, which begins anew with the program
  std::uint64_t skipped_ = 0;
  std::uint32_t accumulation_ = 0;  // micro-batches a step; 0: not told
  double used_memory_gb_ = 0;
  bool pipeline_ = false;
};

bool looks_like_deepspeed(std::string_view text);

}  // namespace muster
