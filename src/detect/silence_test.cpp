#include "detect/silence.h"

#include <gtest/gtest.h>

#include "base/prng.h"
#include "detect/watch.h"

namespace muster::detect {
namespace {

TEST(Silence, ANodeThatStopsReportingIsSilentAfterTheTimeOfThePolicy) {
  Watch w;
  w.everybody_reports();
  w.look();
  for (int i = 0; i < 17; ++i) {  // 170 s
    for (const std::uint32_t n : {0U, 2U, 3U}) w.sample(NodeId{n}, -1, Field::up, 1);
    w.look(seconds(10));
  }
  EXPECT_EQ(w.findings(), 0U);
  w.look(seconds(10));
  ASSERT_EQ(w.findings(), 1U);
  const Finding* f = w.open(FindingKind::node_silent);
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->node, kN1);
  EXPECT_TRUE(has_witness_beyond_log(*f));
  EXPECT_EQ(w.look(seconds(60)).size(), 0U) << "said once";
}

TEST(Silence, AFailedScrapeIsNoReport) {
  Watch w(1);
  w.everybody_reports();
  w.look();
  for (int i = 0; i < 4; ++i) {
    w.sample(kN0, -1, Field::up, 0);
    w.look(minutes(1));
  }
  EXPECT_NE(w.open(FindingKind::node_silent), nullptr);
}

TEST(Silence, ANodeThatIsHeardAgainIsNotSilentAnyMore) {
  Watch w(1);
  w.look();
  w.look(minutes(4));
  EXPECT_NE(w.open(FindingKind::node_silent), nullptr);
  w.sample(kN0, -1, Field::up, 1);
  w.look();
  EXPECT_EQ(w.open(FindingKind::node_silent), nullptr);
  w.look(minutes(4));
  EXPECT_NE(w.open(FindingKind::node_silent), nullptr) << "and silent once more";
}

TEST(Silence, AControllerThatHasJustStartedHasHeardNobodyYet) {
  Watch w;
  w.t.pass(hours(5));
  w.restart();
  EXPECT_TRUE(w.look().empty()) << "the window begins now";
  w.everybody_reports();
  EXPECT_TRUE(w.look(minutes(2)).empty());
}

TEST(Silence, ANodeThatReportsAgainAfterARestartOfTheControllerIsSilentNoMore) {
  Watch w(2);
  w.look();
  w.sample(kN1, -1, Field::up, 1);
  w.look(minutes(2));
  w.sample(kN1, -1, Field::up, 1);
  w.look(minutes(2));
  ASSERT_NE(w.open(FindingKind::node_silent), nullptr);
  w.restart();
  w.sample(kN0, -1, Field::up, 1);
  w.look();
  EXPECT_EQ(w.open(FindingKind::node_silent), nullptr);
}

TEST(Silence, ANodeThatMusterRebootsMayBeSilent) {
  Watch w(1);
  w.look();
  const IncidentId i = w.t.open(w.t.find(FindingKind::gpu_lost, kN0, 1));
  w.t.drained(kN0, i);
  const std::string key = w.t.order(Verb::reboot_node, kN0, i);
  EXPECT_TRUE(w.look(minutes(30)).empty());
  w.t.ends(key);
  w.t.tell(IncidentMoved{i, Stage::emptying, 0, kNever, {}});
  EXPECT_TRUE(w.look(minutes(1)).empty());
  w.look(minutes(3));
  EXPECT_NE(w.open(FindingKind::node_silent), nullptr) << "but not for ever";
}

TEST(Silence, ANodeThatHasJustBootedHasItsTimeToReport) {
  Watch w(1);
  w.look();
  const IncidentId i = w.t.open(w.t.find(FindingKind::gpu_lost, kN0, 1));
  w.t.drained(kN0, i);
  const std::string key = w.t.order(Verb::reboot_node, kN0, i);
  w.look(minutes(3));
  w.look(minutes(2));
  w.t.ends(key);
  w.t.order(Verb::test_node, kN0, i);
  EXPECT_TRUE(w.look(minutes(1)).empty());
  EXPECT_TRUE(w.look(minutes(1)).empty());
}

TEST(Silence, ABootThatNobodyOrderedIsFound) {
  Watch w(1);
  w.sample(kN0, -1, Field::boot_time_s, 1767000000);
  EXPECT_TRUE(w.look().empty());
  w.sample(kN0, -1, Field::boot_time_s, 1767000030);
  EXPECT_TRUE(w.look().empty()) << "it wobbles";
  w.sample(kN0, -1, Field::boot_time_s, 1767225590);
  w.look();
  EXPECT_NE(w.open(FindingKind::host_rebooted), nullptr);
}

TEST(Silence, ABootThatMusterOrderedIsNone) {
  Watch w(1);
  w.sample(kN0, -1, Field::boot_time_s, 1767000000);
  w.look();
  const IncidentId i = w.t.open(w.t.find(FindingKind::gpu_lost, kN0, 1));
  const std::string key = w.t.order(Verb::reboot_node, kN0, i);
  w.sample(kN0, -1, Field::boot_time_s, 1767225590);
  w.look();
  EXPECT_EQ(w.open(FindingKind::host_rebooted), nullptr);
  w.t.ends(key);
  w.t.order(Verb::test_node, kN0, i);
  w.sample(kN0, -1, Field::boot_time_s, 1767229600);
  w.look();
  EXPECT_EQ(w.open(FindingKind::host_rebooted), nullptr) << "it may be reported late";
}

// The list of nodes by last report, against the plain way of looking at all of them.
TEST(Silence, TheNodesFoundSilentAreThoseNotHeardForLongEnough) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Prng prng(seed, "silence");
    Watch w(7);
    std::vector<Time> heard(7);
    std::vector<bool> silent(7, false);
    w.look();
    for (Time& h : heard) h = w.t.s.mono();
    for (int turn = 0; turn < 120; ++turn) {
      const auto later = static_cast<std::int64_t>(1 + prng.below(100));
      const Time mono = w.t.s.mono() + seconds(later);
      for (std::uint32_t n = 0; n < 7; ++n) {
        if (!prng.chance(0.25)) continue;
        w.sample(NodeId{n}, -1, Field::up, 1);
        heard[n] = mono;
        silent[n] = false;
      }
      w.look(seconds(later));
      for (std::uint32_t n = 0; n < 7; ++n) {
        if (mono - heard[n] >= w.t.s.policy.silent_after) silent[n] = true;
        bool found = false;
        for (const auto& [id, f] : w.t.s.findings) found = found || (f.node == NodeId{n} && f.cleared.ns == 0);
        ASSERT_EQ(found, silent[n]) << "seed " << seed << " turn " << turn << " node " << n;
      }
      ASSERT_GT(w.detectors.next(w.t.s), mono) << "it would be asked again at once, for ever";
    }
  }
}

TEST(Silence, ANodeInAPersonsHandsMayBeSilentAndBoot) {
  Watch w;
  w.everybody_reports();
  w.sample(kN0, -1, Field::boot_time_s, 1e9);
  w.look();
  w.t.s.nodes[0].hold = Hold::person;
  for (int i = 0; i < 20; ++i) {
    for (std::uint32_t n = 1; n < 4; ++n) w.sample(NodeId{n}, -1, Field::up, 1);
    w.look(minutes(1));
  }
  w.sample(kN0, -1, Field::boot_time_s, static_cast<double>(w.t.now().utc.ns) / 1e9);
  w.look();
  EXPECT_EQ(w.findings(), 0U);
}

TEST(Silence, ADrainedNodeWhoseJobStillRunsIsMissedAllTheSame) {
  Watch w;
  w.t.running({kN0});
  w.everybody_reports();
  w.look();
  w.t.s.nodes[0].hold = Hold::person;
  for (int i = 0; i < 5; ++i) {
    for (std::uint32_t n = 1; n < 4; ++n) w.sample(NodeId{n}, -1, Field::up, 1);
    w.look(minutes(1));
  }
  EXPECT_NE(w.open(FindingKind::node_silent), nullptr);
}

}  // namespace
}  // namespace muster::detect
