#include "diagnose/long_profile.h"

#include <gtest/gtest.h>

#include "diagnose/timeline.h"
#include "diagnose/trace_builder.h"

namespace muster::diagnose {
namespace {

TEST(LongProfile, IsCutWhereAStepBegins) {
  Machine m;
  m.steps(20, [&](int) {
    for (int i = 0; i < 10; ++i) m.kernel(100 * us);
    m.wait();
  });
  Trace t = m.b.t;
  EXPECT_FALSE(keep_first_steps(t, 200));
  ASSERT_TRUE(keep_first_steps(t, 55));
  EXPECT_EQ(t.gpu.size(), 50U);
  EXPECT_EQ(t.steps.size(), 5U);
  EXPECT_EQ(t.calls.size(), 55U) << "ten launches and a wait, each step";
  EXPECT_EQ(timeline(t).step_ns(), timeline(m.b.t).step_ns()) << "steps take what they took";
}

TEST(LongProfile, WithoutMarksItIsCutInTime) {
  Machine m;
  for (int i = 0; i < 100; ++i) m.kernel(100 * us);
  Trace t = m.b.t;
  ASSERT_TRUE(keep_first_steps(t, 30));
  EXPECT_EQ(t.gpu.size(), 30U);
  Trace one;
  EXPECT_FALSE(keep_first_steps(one, 0));
}

}  // namespace
}  // namespace muster::diagnose
