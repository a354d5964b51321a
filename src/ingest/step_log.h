// The progress that training frameworks print: Megatron-LM, Megatron-DeepSpeed, DeepSpeed, torchtitan, NeMo, Megatron-Bridge and
// what shows a progress bar (Hugging Face's Trainer), with whatever launchers put before each line. A log of any length is read
// in bounded memory. NCCL's warnings and PyTorch's watchdog in the same log are train_log.h's.
#pragma once
#include <cstddef>
#include <memory>
#include <string_view>

#include "model/step_log.h"

namespace muster {

constexpr std::size_t kStepLineMax = 16384;  // bytes of a line that are looked at
constexpr std::size_t kStepsMax = 1 << 18;   // of one form; the rest is counted
constexpr std::size_t kStepTimersMax = 256;
constexpr std::size_t kStepMarksMax = 4096;
constexpr std::size_t kStepSettingsMax = 4096;  // arguments, and the engine's
constexpr std::size_t kStepTextMax = 512;       // bytes of a setting

// Whether text has a line of progress, or settings as Megatron dumps them.
bool looks_like_step_log(std::string_view text);

class StepLogReader {
 public:
  StepLogReader();
  ~StepLogReader();
  StepLogReader(StepLogReader&&) noexcept;
  StepLogReader& operator=(StepLogReader&&) noexcept;

  // Pieces of any size, in order.
  void feed(std::string_view text);
  StepLog finish();

 private:
  struct Guts;
  std::unique_ptr<Guts> guts_;
};

StepLog parse_step_log(std::string_view text);

}  // namespace muster
