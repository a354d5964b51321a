#include "ingest/calibration_file.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(CalibrationFile, WhatHasNoColumnKeepsItsDefault) {
  const auto c = parse_calibrations("software,release,gpu,dtype,rows,low,high,gemm\nx,1.2,h100,fp8,7,0.9,1.1,0.6\n");
  ASSERT_TRUE(c) << c.error().what;
  EXPECT_EQ(c->front().gpu, "h100");
  EXPECT_EQ(c->front().dtype, Dtype::fp8);
  EXPECT_DOUBLE_EQ(c->front().gemm, 0.6);
  EXPECT_DOUBLE_EQ(c->front().hbm, Calibration{}.hbm);
}

TEST(CalibrationFile, NoShareOfADataSheetIsAboveOne) {
  const auto c = parse_calibrations("software,gpu,dtype,gemm\nx,h100,fp8,1.2\n", "c.csv");
  ASSERT_FALSE(c);
  EXPECT_EQ(c.error().what, "c.csv:2: gemm must be from 0.1 to 1, is '1.2'");
  EXPECT_FALSE(parse_calibrations("software,gpu,dtype\nx,h100,fp7\n"));
  EXPECT_FALSE(parse_software("software,free\nx,speed\n"));
}

TEST(CalibrationFile, WhatIsUsualIsSaid) {
  const auto s = parse_software("software,free,usual_for\nx,gemm,dense\ny,gemm,\n");
  ASSERT_TRUE(s) << s.error().what;
  EXPECT_EQ(s->at(0).usual_for, UsualFor::dense);
  EXPECT_EQ(s->at(1).usual_for, UsualFor::nothing);
  const auto wrong = parse_software("software,free,usual_for\nx,gemm,all\n", "s.csv");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().what, "s.csv:2: usual_for must be dense, experts or nothing, is 'all'");
}

TEST(CalibrationFile, WhatShipsIsRead) {
  EXPECT_GE(shipped_software().size(), 5U);
  for (const Software& s : shipped_software()) EXPECT_FALSE(s.free.empty()) << s.start.software;
}

}  // namespace
}  // namespace muster
