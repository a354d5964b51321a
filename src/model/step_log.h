// What a training framework wrote of its own progress: steps and how long they took, its timers, and the settings it printed when
// it began.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

// Whose lines the steps were read from. A log may have several: the first of these that tells times is taken.
enum class StepForm : std::uint8_t { megatron, torchtitan, nemo, bridge, deepspeed, progress_bar, none };
constexpr std::array<std::string_view, 7> names(StepForm) {
  return {"Megatron", "torchtitan", "NeMo", "Megatron-Bridge", "DeepSpeed", "progress bar", "none"};
}

// What times of steps were taken from.
enum class StepClock : std::uint8_t { none, printed, rate, timers, stamps };
constexpr std::array<std::string_view, 5> names(StepClock) { return {"none", "printed", "rate", "timers", "stamps"}; }

// 0: not told, but for `step`. Where a line stands for several steps, times are their mean.
struct StepSample {
  std::uint64_t step = 0;
  double time_s = 0;
  double at_s = 0;           // on the wall's clock, where the line has a time
  double tflops = 0;         // a GPU's, as the framework counts them
  double mfu_pct = 0;        // as the framework counts it
  double tokens_per_s = 0;   // of one GPU
  double samples_per_s = 0;  // of all
  std::uint32_t batch = 0;   // sequences
  std::uint32_t skipped = 0, nan = 0;
  std::uint32_t line = 0;
};

// Of one phase, in all that was printed of it.
struct PhaseTimer {
  std::string name;  // "forward-backward"
  std::uint32_t times = 0;
  double min_ms = 0, max_ms = 0;  // sums over `times`: of the fastest rank and of the slowest; equal where only one is told
  bool ranks = false;             // both were told
  bool micro = false;             // of one micro-batch; a step has several
};

enum class MarkKind : std::uint8_t { checkpoint, evaluation };
constexpr std::array<std::string_view, 2> names(MarkKind) { return {"checkpoint", "evaluation"}; }
struct StepMark {
  std::uint64_t step = 0;
  MarkKind kind = MarkKind::checkpoint;
};

// How ranks are laid out, as torchtitan prints it; 0: not told.
struct RankMesh {
  std::uint32_t pp = 0, replicate = 0, shard = 0, cp = 0, tp = 0, ep = 0;
};

struct StepLog {
  StepForm form = StepForm::none;
  StepClock clock = StepClock::none;
  std::string framework;  // "Megatron-DeepSpeed"; empty: not told
  std::vector<StepSample> steps;
  std::vector<PhaseTimer> timers;
  std::vector<StepMark> marks;
  std::map<std::string, std::string, std::less<>> arguments;  // Megatron's, as it dumps them: "num_layers" -> "32"
  std::map<std::string, std::string, std::less<>> engine;     // DeepSpeed's, as it prints them: "zero_config.overlap_comm"
  std::string deepspeed_json;                                 // the configuration that it was given
  std::uint32_t gpus = 0;
  std::uint32_t batch = 0, micro_batch = 0, seq = 0;
  std::uint32_t accumulation = 0;  // micro-batches that a rank computes in a step
  std::uint32_t padded_vocab = 0;
  std::string model;      // "llama3 8B"
  double parameters = 0;  // of the whole model, where told so
  RankMesh mesh;
  std::string gpu_name;       // "NVIDIA H100 80GB HBM3"; empty: not told
  std::optional<bool> amd;    // the software is built for AMD's GPUs, or for NVIDIA's
  double gpu_memory_gb = 0;   // that one has, in 1e9 bytes
  double used_memory_gb = 0;  // the most that was reserved (DeepSpeed: allocated, which is less)
  std::string recompute;      // "full", "selective", as torchtitan says that it applied it
  double mean_step_s = 0;     // of the whole run, as Hugging Face sums up
  double samples_per_s = 0;   // the same
  std::uint64_t lines = 0;
  std::uint64_t left_out = 0;  // steps beyond what is kept
};

// Times of steps by samples a second, for steps of `batch` samples; false: one of the two is not told, and nothing is changed.
bool time_by_rate(StepLog& log, std::uint32_t batch);
// Of steps that have none, by the time between their lines; false: no two lines tell one.
bool time_by_stamps(StepLog& log);

}  // namespace muster
