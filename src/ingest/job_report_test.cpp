#include "ingest/job_report.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(JobReport, ALineIsReadAndWrittenAgain) {
  const auto r = parse_job_report(R"({"job":"17_3","attempt":2,"step":1200,"saved_step":1000,"step_s":8.5,"saving_s":31})");
  ASSERT_TRUE(r) << r.error().what;
  EXPECT_EQ(*r, (JobReport{"17_3", 2, 1200, 1000, 8.5, 31}));
  EXPECT_EQ(render_job_report(*r), R"("attempt":2,"step":1200,"saved_step":1000,"step_s":8.5,"saving_s":31)");
  EXPECT_EQ(parse_job_report(R"({"job":17,"step":5,"step_s":null})")->job, "17") << "numbers and nothings, as programs send them";
}

TEST(JobReport, WhatNoJobSendsIsRefusedWithTheReason) {
  for (const char* line :
       {"", "17", "[]", "{}", R"({"job":"17"})", R"({"step":-1})", R"({"step":1.5})", R"({"step":1e30})",
        R"({"step":1,"saved_step":2})", R"({"step":1,"step_s":-1})", R"({"step":1,"step_s":1e9})", R"({"step":1,"verb":"drain"})",
        R"({"step":1,"attempt":5000000000})", R"({"step":1,"job":["a"]})", R"({"step":1,"step":2})", R"({"step":1} x)"}) {
    const auto r = parse_job_report(line);
    EXPECT_FALSE(r) << line;
    EXPECT_FALSE(!r && r.error().what.empty()) << line;
  }
  EXPECT_FALSE(parse_job_report(R"({"step":1,"job":")" + std::string(65, 'x') + "\"}"));
  EXPECT_FALSE(parse_job_report(R"({"step":1)" + std::string(2000, ' ') + "}"));
}

TEST(Megatron, ItsIterationsAndCheckpoints) {
  const auto step = parse_megatron_line(
      " [2026-05-01 12:00:00] iteration      100/  500000 | consumed samples:        12800 | elapsed time per iteration (ms): "
      "1234.5 | learning rate: 1.5E-04 | global batch size:   128 | lm loss: 1.06E+01 |");
  ASSERT_TRUE(step);
  EXPECT_EQ(*step, (JobReport{"", 0, 100, -1, 1.2345, -1}));
  EXPECT_EQ(parse_megatron_line(" iteration       20/     100 | consumed samples: 1 |")->step, 20);
  const auto saved =
      parse_megatron_line("  successfully saved checkpoint from iteration     500 to /checkpoints/run [ t 1/2, p 1/4 ]");
  ASSERT_TRUE(saved);
  EXPECT_EQ(*saved, (JobReport{"", 0, -1, 500, -1, -1}));
  EXPECT_EQ(parse_megatron_line("  successfully saved checkpoint at iteration     500 to /ckpt")->saved_step, 500) << "older";
  EXPECT_EQ(parse_megatron_line("[default0]:  successfully saved checkpoint at iteration 7 to /c")->saved_step, 7);
  const auto timer = parse_megatron_line("    save-checkpoint ................................: (13424.36, 13424.53)");
  ASSERT_TRUE(timer);
  EXPECT_NEAR(timer->saving_s, 13.42453, 1e-9) << "the slowest rank's: all wait for it";
  EXPECT_NEAR(parse_megatron_line("    save-checkpoint ......: 800.0")->saving_s, 0.8, 1e-9);
  EXPECT_NEAR(parse_megatron_line("time (ms) | save-checkpoint: 800.0")->saving_s, 0.8, 1e-9) << "of old versions";
  EXPECT_EQ(parse_megatron_line("==> iteration       20/     100 | consumed samples: 1 |")->step, 20) << "of its kin";
}

TEST(Megatron, OtherLinesSayNothing) {
  for (const char* line :
       {"", "iteration", "iteration 5", " iteration 7/5 | x", "validation loss at iteration 100 | lm loss value: 1",
        "saving checkpoint at iteration     500 to /ckpt in torch_dist format",
        "successfully loaded checkpoint from /c [ t 1/2 ]", "successfully saved checkpoint from iteration x to /c",
        "  successfully saved checkpoint from iteration 5", "scheduled an async checkpoint save at iteration 500 to /c",
        "save-checkpoint", "save-checkpoint ....: (1", "save-checkpoint ....: nan", " iteration 99999999999999999999/1 | x"})
    EXPECT_FALSE(parse_megatron_line(line)) << line;
}

}  // namespace
}  // namespace muster
