#include "design/whole_run.h"

#include <gtest/gtest.h>

namespace muster::design {
namespace {

// Llama 3 405B: 15.6e12 tokens on 16,384 H100 at about 400 TFLOP/s each took about 31 million GPU-hours by its model card, and
// was interrupted 419 times in 54 days without planned stops.
TEST(WholeRun, LikeTheOneThatWasPublished) {
  WholeRunAsk ask{.tokens_a_step = 16e6, .tokens = 15.6e12, .gpus = 16384, .gpu_w = 700, .params = 405e9, .storage_gb_s = 2000};
  ask.step_s = 6 * ask.params * ask.tokens_a_step / (16384 * 400e12);
  const WholeRun r = whole_run(ask);
  EXPECT_NEAR(r.gpu_hours, 31e6, 5e6);
  EXPECT_GT(r.useful, 0.9);
  EXPECT_LT(r.useful, 1);
  EXPECT_NEAR(r.interruptions / (r.s / 86'400), 419 / 54.0, 0.1);
  EXPECT_NEAR(r.mwh, r.gpu_hours * 700e-6 * kServerOverGpu * kPue, 1);
}

TEST(WholeRun, SlowStorageCosts) {
  WholeRunAsk ask{.step_s = 5, .tokens_a_step = 16e6, .tokens = 1e12, .gpus = 16384, .gpu_w = 700, .params = 405e9};
  const double at_once = whole_run(ask).useful;
  ask.storage_gb_s = 1000;
  const double quick = whole_run(ask).useful;
  ask.storage_gb_s = 10;
  EXPECT_GT(at_once, quick);
  EXPECT_GT(quick, whole_run(ask).useful + 0.01) << "ten minutes until a checkpoint is durable are lost with each failure";
}

}  // namespace
}  // namespace muster::design
