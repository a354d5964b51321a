#include "detect/agents.h"

#include <gtest/gtest.h>

#include "detect/watch.h"

namespace muster::detect {
namespace {

KernelHeard lost(bool trusted) { return {{Time{}, kN1, 2, KernelKind::xid, 79, 1, 1, "NVRM: Xid ..."}, trusted}; }

TEST(Agents, ATrustedRecordIsLikeAnyOther) {
  Watch w;
  w.event(lost(true));
  w.look();
  const Finding* f = w.open(FindingKind::gpu_lost);
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->node, kN1);
  EXPECT_EQ(f->slot, 2);
}

TEST(Agents, ALogFilesWordIsShownAndLeadsToNothing) {
  Watch w;
  w.event(lost(false));
  w.look();
  EXPECT_EQ(w.open(FindingKind::gpu_lost), nullptr);
  const Finding* f = w.open(FindingKind::hearsay);
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->code, 79);
  EXPECT_FALSE(find_runbook(default_policy(), FindingKind::hearsay)->act);
}

TEST(Agents, ALogFilesWordAboutALinkIsToldFromThatAboutItsGpu) {
  Watch w;
  for (const KernelKind k : {KernelKind::link_down, KernelKind::off_bus})
    w.event(KernelHeard{{w.t.now().utc, kN1, 2, k, 0, 1, 9, "text"}, false});
  w.look();
  std::vector<bool> links;
  for (const auto& [id, f] : w.t.s.findings) links.push_back(of_link(f));
  EXPECT_EQ(links, (std::vector<bool>{true, false}));
}

TEST(Agents, AProbeThatHangsIsAFindingUntilItIsBack) {
  Watch w;
  w.event(AgentSaid{kN0, AgentWord::probe_hung, "nvml", 0, "no answer within 5s"});
  w.look();
  ASSERT_NE(w.open(FindingKind::driver_hang), nullptr);
  w.event(AgentSaid{kN0, AgentWord::probe_back, "nvml", 0, ""});
  w.look();
  EXPECT_EQ(w.open(FindingKind::driver_hang), nullptr);
}

TEST(Agents, AnAgentThatStartsAnewSaysAgainWhatHangs) {
  Watch w;
  w.event(AgentSaid{kN0, AgentWord::mount_stalled, "mount /data", 0, ""});
  w.look();
  ASSERT_NE(w.open(FindingKind::mount_stalled), nullptr);
  w.event(AgentSaid{kN0, AgentWord::started, "", 0, ""});
  w.look();
  EXPECT_EQ(w.open(FindingKind::mount_stalled), nullptr);
}

}  // namespace
}  // namespace muster::detect
