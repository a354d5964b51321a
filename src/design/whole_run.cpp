#include "design/whole_run.h"

#include "predict/checkpoint.h"

namespace muster::design {
namespace {

constexpr double kFailuresPerGpuHour = 1.0 / 50'700;  // Llama 3's 419 in 54 days of 16,384 GPUs
constexpr double kRecoverS = 300;                     // from a failure to the first new step
constexpr double kStallS = 5;                         // steps stop for so long at each checkpoint, copied aside

}  // namespace

WholeRun whole_run(const WholeRunAsk& ask) {
  predict::CheckpointAsk c;
  c.failures_per_s = ask.gpus * kFailuresPerGpuHour / 3600;
  c.stall_s = kStallS;
  c.recover_s = kRecoverS;
  c.write_s = ask.storage_gb_s > 0 ? ask.params * kCheckpointBytes / (ask.storage_gb_s * 1e9) : 0;
  const predict::CheckpointAdvice advice = predict::young_daly(c);
  WholeRun out;
  out.useful = advice.useful;
  out.checkpoint_s = advice.interval_s;
  out.s = ask.tokens / ask.tokens_a_step * ask.step_s / advice.useful;
  out.interruptions = c.failures_per_s * out.s;
  out.gpu_hours = out.s / 3600 * ask.gpus;
  out.mwh = out.gpu_hours * ask.gpu_w * kServerOverGpu * kPue / 1e6;
  return out;
}

}  // namespace muster::design
