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

TEST(CalibrationFile, WhatShipsIsRead) {
  EXPECT_GE(shipped_software().size(), 5U);
  for (const Software& s : shipped_software()) EXPECT_FALSE(s.free.empty()) << s.start.software;
}

}  // namespace
}  // namespace muster
