// What was measured on a real H200, against what is predicted for shapes that nothing was fitted on.
#include "predict/timings.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ingest/hardware_file.h"
#include "ingest/timings_file.h"

namespace muster::predict {
namespace {

TEST(Timings, KernelsOfARealGpuArePredictedWithinFivePercent) {
  const auto families = fit_timings(*find_gpu_model("h200"), shipped_timings());
  std::vector<double> all;
  std::size_t products = 0, steps = 0;
  for (const TimingFamily& f : families) {
    for (const auto& p : f.kept_back) all.push_back(p.error());
    if (f.kind == Timing::Kind::gemm || f.kind == Timing::Kind::attention) products += f.kept_back.size();
    if (f.kind == Timing::Kind::step) steps += f.kept_back.size();
    for (const CalibrationField& field : calibration_fields()) {
      EXPECT_GE(f.calibration.*field.value, field.min) << field.name;
      EXPECT_LE(f.calibration.*field.value, field.max) << field.name;
    }
  }
  std::sort(all.begin(), all.end());
  EXPECT_GE(products, 40U);
  EXPECT_GE(steps, 1U);
  EXPECT_LT(all[all.size() / 2], 0.05);
}

}  // namespace
}  // namespace muster::predict
