#include "adapters/slurm/reasons.h"

#include <gtest/gtest.h>

namespace muster::slurm {
namespace {

NodeRow row(std::string reason, std::string by = "slurm") {
  NodeRow r;
  r.name = "n0";
  r.state = {"IDLE", "DRAIN"};
  r.reason = std::move(reason);
  r.reason_by = std::move(by);
  return r;
}
bool slurms(const NodeRow& r, const char* slurm_user = "slurm(64030)") {
  Reasons reasons;
  reasons.slurm_user(slurm_user);
  return reasons.slurms(r);
}

TEST(ReasonsOfNodes, SlurmsOwnWordsInItsOwnName) {
  for (const char* reason :
       {"Prolog error", "Epilog error", "Duplicate jobid", "batch job complete failure", "Kill task failed",
        "Kill task failed (JobId=7 StepId=batch)", "Not responding", "Node unexpectedly rebooted",
        "gres/gpu count reported lower than configured (7 < 8)", "Low RealMemory (reported:1 < 100.00% of configured:2)",
        "Low socket*core*thread count, Low CPUs", "Epilog error : Not responding"}) {
    EXPECT_TRUE(slurms(row(reason))) << reason;
    EXPECT_TRUE(slurms(row(reason, "root"))) << reason << ": slurmd's";
    EXPECT_FALSE(slurms(row(reason, "ada"))) << reason << ": an operator who writes the same is a person";
  }
  EXPECT_TRUE(left_processes(row("Kill task failed (JobId=7 StepId=batch)")));
  EXPECT_FALSE(left_processes(row("Epilog error")));
}

TEST(ReasonsOfNodes, WhatAPersonWroteIsThePersons) {
  for (const char* reason : {"bad fan", "", "Prolog error, see ticket 12", "prolog error", "NHC: no GPUs", "Kill", "gres/gpu",
                             "reboot requested", "Reboot ASAP", "bad fan : Not responding", "Not responding : bad fan",
                             "muster: incident 4: a lost GPU", "x Epilog error",
                             "gres/gpu count reported lower than configured (bob: board is out)",
                             "gres/gpu count reported lower than configured (7 < 8) bob",
                             "gres/ bob count reported lower than configured (7 < 8)",
                             "Low RealMemory (reported:900000 < 1000000) (bob: dimm pulled)", "Low CPUs, bob",
                             "Kill task failed (JobId=7 StepId=bob)"}) {
    EXPECT_FALSE(slurms(row(reason))) << reason;
    EXPECT_FALSE(slurms(row(reason, "root"))) << reason;
  }
}

TEST(ReasonsOfNodes, WithoutAConfigurationOnlyRootIsTakenForSlurm) {
  EXPECT_FALSE(slurms(row("Epilog error"), ""));
  EXPECT_FALSE(slurms(row("Epilog error", ""), ""));
  EXPECT_TRUE(slurms(row("Epilog error", "root"), ""));
}

TEST(ReasonsOfNodes, DownIsLeftDownOnceItAnswers) {
  NodeRow r = row("Not responding");
  r.state = {"DOWN", "NOT_RESPONDING"};
  EXPECT_FALSE(left_down(r));
  r.state = {"DOWN"};
  EXPECT_TRUE(left_down(r));
  EXPECT_TRUE(taken_out(r));
  r.reason.clear();
  EXPECT_FALSE(taken_out(r)) << "nobody sets a node down without a reason";
}

}  // namespace
}  // namespace muster::slurm
