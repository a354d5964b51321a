#include "report/predictions.h"

#include <gtest/gtest.h>

#include "ingest/calibration_file.h"

namespace muster::report {
namespace {

TEST(Predictions, StandBesideWhatWasMeasured) {
  const auto csv = parse_csv("Model (B),tokens\na,10\nb,\nc,5\n", "t.csv");
  TrainingRows rows;
  TrainingRow a;
  a.row = 0;
  a.metric = "tokens";
  a.rate = true;
  a.scale = 100;
  a.step_s = 10;
  TrainingRow b = a;
  b.row = 1;
  b.step_s = 0;
  rows.rows = {a, b};
  rows.skipped = {{2, "its GPU is not known"}};
  predict::RunPrediction p;
  p.step_s = 8;
  p.low_s = 7;
  p.high_s = 10;
  p.calibrated = true;
  const Table t = predictions_table(*csv, rows, std::vector<std::optional<predict::RunPrediction>>{p, std::nullopt});
  EXPECT_EQ(render_csv(t, true),
            "Model (B),tokens,predicted_tokens,error_pct,low,high,basis\n"
            "a,10,12.5,25.00,10,14.286,calibrated\n"
            "b,,,,,,none: no run on this GPU is known\n"
            "c,5,,,,,none: its GPU is not known\n");
}

TEST(Predictions, ErrorsAreSummedBySoftware) {
  TrainingRow r;
  r.software = "x";
  r.step_s = 10;
  predict::RunPrediction over, under;
  over.step_s = 11;
  over.low_s = 9.5;
  over.high_s = 12;
  under.step_s = 8;
  under.low_s = 7;
  under.high_s = 9;
  const Scored scored[] = {{&r, over}, {&r, under}};
  EXPECT_EQ(render_csv(accuracy_table(scored), false), "all of them,2,15.00,20.00,20.0,50,\nx,2,15.00,20.00,20.0,50,\n");
}

TEST(Predictions, CalibrationsAreReadAsTheyAreWritten) {
  Calibration c;
  c.software = "x";
  c.release = "1.0";
  c.gpu = "h100";
  c.dtype = Dtype::mxfp8;
  c.gemm = 0.6125;
  c.rows = 7;
  const auto back = parse_calibrations(render_calibrations({&c, 1}));
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(back->front().release, "1.0");
  EXPECT_EQ(back->front().dtype, Dtype::mxfp8);
  EXPECT_DOUBLE_EQ(back->front().gemm, 0.6125);
  EXPECT_EQ(back->front().rows, 7U);
}

TEST(Predictions, AChoiceCostsWhatIsLostAgainstTheBest) {
  TrainingRow quick, slow, other;
  quick.plan.gpus = slow.plan.gpus = 8;
  quick.plan.global_batch = 10;
  quick.step_s = 10;
  slow.plan.global_batch = 20;
  slow.step_s = 24;
  other.plan.gpus = 16;
  predict::RunPrediction p;
  p.step_s = 12;
  const Scored wrong[] = {{&quick, p}, {&slow, p}, {&other, p}};
  const auto all = choices(wrong);
  ASSERT_EQ(all.size(), 1U) << "one run alone is no choice";
  EXPECT_EQ(all[0].runs, 2U);
  EXPECT_NEAR(all[0].lost, 0.2, 1e-12) << "a sequence of the one taken takes 1.2 s, of the other 1.0";
}

}  // namespace
}  // namespace muster::report
