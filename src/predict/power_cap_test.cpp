// Power caps: the published figures of the H200, and what is refused.
#include "predict/power_cap.h"

#include <gtest/gtest.h>

#include <cmath>

namespace muster::predict {
namespace {

std::vector<CapPoint> gemm() {
  const std::pair<double, std::pair<double, double>> measured[] = {
      {700, {665.0, 693}}, {600, {620.9, 594}}, {500, {554.5, 495}}, {400, {428.5, 399}}, {300, {292.7, 300}}};
  std::vector<CapPoint> out;
  for (const auto& [cap, row] : measured) {
    const double time = 665.0 / row.first;
    out.push_back({"h200", "compute", cap, time, row.second / 693 * time, row.second, "", ""});
  }
  return out;
}
std::vector<CapPoint> copy() {
  return {{"h200", "memory", 700, 1, 1, 412, "", ""},
          {"h200", "memory", 300, 4233.7 / 3995.9, 300.0 / 412 * 4233.7 / 3995.9, 300, "", ""}};
}
constexpr CapSetting kNotes{1.0, 0.08, 1.3, 350, 693};

TEST(PowerCap, Of500WattsGemmCosts18PercentMoreAtOneDollar) {
  const CapOutcome o = cap_outcome(*cap_at(gemm(), 500), kNotes);
  EXPECT_NEAR(o.time_ratio, 1.199, 0.0005);
  EXPECT_NEAR(o.energy_ratio, 0.857, 0.0005);
  EXPECT_NEAR(100 * (o.total_ratio - 1), 18, 0.5);
  // At the break-even rate both cost the same.
  CapSetting even = kNotes;
  even.gpu_hour = o.break_even;
  EXPECT_NEAR(cap_outcome(*cap_at(gemm(), 500), even).total_ratio, 1, 1e-12);
  EXPECT_NEAR(o.break_even, 0.0155, 0.0005);
}

TEST(PowerCap, AMegawattDoes3PercentMoreAt600And500Watts) {
  EXPECT_NEAR(cap_outcome(*cap_at(gemm(), 600), kNotes).per_mw_ratio, 1.032, 0.001);
  EXPECT_NEAR(cap_outcome(*cap_at(gemm(), 500), kNotes).per_mw_ratio, 1.029, 0.001);
  EXPECT_NEAR(cap_outcome(*cap_at(gemm(), 400), kNotes).per_mw_ratio, 0.897, 0.001);
}

TEST(PowerCap, MemoryBoundWorkLosesLittleAt300Watts) {
  CapSetting s = kNotes;
  s.uncapped_w = 412;
  const CapOutcome o = cap_outcome(*cap_at(copy(), 300), s);
  EXPECT_NEAR(100 * (1 - o.power_ratio), 27, 0.5);
  EXPECT_NEAR(100 * (1 - 1 / o.time_ratio), 5.6, 0.05);
}

TEST(PowerCap, BetweenMeasuredCapsALineIsDrawnAndBeyondThemNothing) {
  const auto curve = gemm();
  const CapPoint p = *cap_at(curve, 550);
  EXPECT_DOUBLE_EQ(p.time_ratio, (curve[1].time_ratio + curve[2].time_ratio) / 2);
  EXPECT_NE(p.work.find("between 500 and 600"), std::string::npos);
  EXPECT_FALSE(cap_at(curve, 299).has_value());
  EXPECT_FALSE(cap_at(curve, 701).has_value());
  EXPECT_NE(cap_at(curve, 250).error().what.find("between 300 and 700 W"), std::string::npos);
  EXPECT_FALSE(cap_at({}, 500).has_value());
}

TEST(PowerCap, ACapThatCostsNoTimeAlwaysPays) {
  const CapOutcome o = cap_outcome({"x", "y", 400, 1, 0.9, 0, "", ""}, kNotes);
  EXPECT_TRUE(std::isinf(o.break_even) && o.break_even > 0);
  EXPECT_LT(o.total_ratio, 1);
}

}  // namespace
}  // namespace muster::predict
