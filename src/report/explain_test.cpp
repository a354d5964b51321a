#include "report/explain.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "model/story.h"

namespace muster::report {
namespace {

TEST(ExplainQueue, WhoMayNotStartIsNotExpectedNow) {
  Policy p = default_policy();
  QueueSpec lab;
  lab.name = "lab";
  lab.limit_gpus = 16;
  p.queues = {lab};
  Story t(8, p);
  JobSpec spec;
  spec.name = "gang";
  spec.account = "lab";
  for (std::uint32_t n = 1; n <= 4; ++n) t.tell(JobSubmitted{{n, 0}, spec});
  t.tell(JobStarted{{1, 0}, 1, {NodeId{0}}});
  const auto said = [&] { return join(explain(t.s, "queue").value().sentences, "\n"); };
  const std::string one_runs = said();
  EXPECT_NE(one_runs.find("1. job 2 (gang): expected now"), std::string::npos) << one_runs;
  EXPECT_NE(one_runs.find("2. job 3 (gang): not now, once those before it have started: lab has 16 of 16"), std::string::npos)
      << one_runs;
  t.tell(JobStarted{{2, 0}, 1, {NodeId{1}}});
  const std::string full = said();
  EXPECT_EQ(full.find("expected now"), std::string::npos) << full;
  EXPECT_NE(full.find("job 3 (gang) is not in line: lab has 16 of 16"), std::string::npos) << full;
}

TEST(ExplainRecorded, StepsAreSaidToBeAsOfTheLastCheckpoint) {
  Story t(8);
  const JobId job = t.running({NodeId{0}});
  t.tell(JobProgressed{job, 1, {104, 104, 0, 0, 0}});
  EXPECT_EQ(join(explain(t.s, "job 1").value().sentences, " ").find("as of its last checkpoint"), std::string::npos);
  EXPECT_NE(join(explain_recorded(t.s, "job 1").value().sentences, " ").find("as of its last checkpoint"), std::string::npos);
  EXPECT_EQ(join(explain_recorded(t.s, "n0").value().sentences, " ").find("as of its last checkpoint"), std::string::npos);
}

}  // namespace
}  // namespace muster::report
