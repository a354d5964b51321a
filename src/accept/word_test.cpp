#include <gtest/gtest.h>

#include "accept/judge.h"
#include "accept/sample.h"

namespace muster::accept {
namespace {

TEST(Word, WhoPassedAndWhoDidNotIsTold) {
  Acceptance a = sample_node(1, 8, 0);
  a.wrong.push_back({3, AcceptTest::sweep, 0, "SM 17", 1, "unit fp32"});
  const AcceptanceWord w = word_of(a, judge(a, Limits({})));
  EXPECT_EQ(w.profile, "quick");
  ASSERT_EQ(w.gpus.size(), 8U);
  for (const auto& g : w.gpus) EXPECT_EQ(g.passed, g.gpu != 3);
  ASSERT_EQ(w.gpus[3].faults.size(), 1U);
  EXPECT_EQ(w.gpus[3].faults[0].kind, AcceptFault::wrong_results);
  EXPECT_TRUE(w.gpus[3].faults[0].failed);
  EXPECT_NE(w.gpus[3].faults[0].part.find("SM 17"), std::string::npos);
  EXPECT_EQ(w.gpus[3].uuid, a.gpus[3].uuid);
}

TEST(Word, ARecordingThatWasCutOffLetsNobodyPass) {
  Acceptance a = sample_node(1, 8, 0);
  a.end.clear();
  const AcceptanceWord w = word_of(a, judge(a, Limits({})));
  for (const auto& g : w.gpus) EXPECT_FALSE(g.passed);
  ASSERT_EQ(w.faults.size(), 1U);
  EXPECT_EQ(w.faults[0].kind, AcceptFault::not_run);
}

}  // namespace
}  // namespace muster::accept
