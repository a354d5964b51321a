// The verdict on a power cap.
#include "report/energy_cap.h"

#include <gtest/gtest.h>

namespace muster::report {
namespace {

CapReport h200(double cap) {
  CapReport r;
  r.curve = {{"h200", "compute", 700, 1, 1, 693, "a matrix product", "measured"},
             {"h200", "compute", 500, 1.1993, 0.8566, 495, "", "measured"}};
  r.chosen = *predict::cap_at(r.curve, cap);
  r.setting = {1.0, 0.08, 1.3, 350, 693};
  return r;
}

TEST(EnergyCap, TheVerdictIsOneSentenceWithItsRates) {
  const CapReport r = h200(500);
  EXPECT_EQ(
      cap_verdict(r, *r.chosen),
      "A cap of 500 W does not pay at 1.00 USD a GPU-hour: the work costs 17.7 % more (time +19.9 %, the GPU's energy -14.3 %), "
      "and pays only below 0.015 USD a GPU-hour; where megawatts are short and GPUs are not, a MW does 2.9 % more work and feeds "
      "23.4 % more GPUs.");
}

TEST(EnergyCap, WhatWasNotMeasuredButInterpolatedIsMarked) {
  const std::string text = render_cap_text(h200(600), {});
  EXPECT_NE(text.find("between 500 and 700 W"), std::string::npos) << text;
  EXPECT_NE(text.find("Source: a matrix product; measured"), std::string::npos);
}

TEST(EnergyCap, TheHighestCapIsNone) {
  const CapReport r = h200(700);
  EXPECT_NE(cap_verdict(r, *r.chosen).find("counts as none"), std::string::npos);
}

}  // namespace
}  // namespace muster::report
