#include "detect/leaf_hangs.h"

#include <gtest/gtest.h>

#include "base/prng.h"
#include "detect/watch.h"

namespace muster::detect {
namespace {

// 64 nodes in leaves of four. Four jobs have a node under leaf 2 and one elsewhere; twenty others share nothing with it.
class LeafHang : public ::testing::Test {
 protected:
  LeafHang() {
    constexpr std::uint32_t elsewhere[] = {0, 4, 12, 60};
    for (std::uint32_t i = 0; i < 4; ++i)
      there.push_back(start("user" + std::to_string(i), {NodeId{8 + i}, NodeId{elsewhere[i]}}));
    for (std::uint32_t i = 0; i < 20; ++i)
      others.push_back(start("user" + std::to_string(i % 5), {NodeId{17 + 2 * i + i / 10}, NodeId{18 + 2 * i + i / 10}}));
  }
  JobId start(const std::string& user, std::vector<NodeId> nodes) {
    const JobId id{++jobs_, 0};
    JobSpec spec;
    spec.name = "job";
    spec.user = user;
    spec.nodes = static_cast<std::uint32_t>(nodes.size());
    w.t.tell(JobSubmitted{id, spec});
    w.t.tell(JobStarted{id, 1, std::move(nodes)});
    return id;
  }
  void lose(JobId id) { w.event(JobEnded{id, 1, JobEnd::node_failed, {}, "a rank is gone", {}}); }
  // What the job's own log says, in a turn of its own.
  void hang(JobId id) {
    JobLogRecord r;
    r.at = w.t.now().utc;
    r.job = id;
    r.kind = JobLogKind::timed_out;
    r.rank = 0;
    r.text = "Watchdog caught collective operation timeout";
    const auto said = w.detectors.look({}, {}, {}, {}, w.t.s, w.t.now().utc, w.t.s.mono(), std::span(&r, 1));
    for (const Body& b : said) w.t.tell(b);
  }
  void pass(Duration d) {
    for (Duration t{}; t < d; t = t + seconds(30)) {
      w.everybody_reports();
      w.look(seconds(30));
    }
  }
  Watch w{64};
  std::vector<JobId> there, others;

 private:
  std::uint32_t jobs_ = 100;
};

TEST_F(LeafHang, IsNamedWhenJobsOfDifferentOwnersHangUnderIt) {
  pass(minutes(1));
  for (const JobId id : there) hang(id);
  pass(minutes(3));
  EXPECT_EQ(w.open(FindingKind::common_cause), nullptr) << "their nodes may still turn out to be at fault";
  pass(minutes(2));
  const Finding* f = w.open(FindingKind::common_cause);
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->subject, "jobs hang under leaf switch 2");
  EXPECT_FALSE(f->node.some());
  EXPECT_GE(f->code, 95);
  EXPECT_NE(f->evidence.front().text.find("4 of 4 jobs there"), std::string::npos) << f->evidence.front().text;
  EXPECT_NE(f->evidence.front().text.find("n[8-11]"), std::string::npos) << f->evidence.front().text;
  EXPECT_LT(f->began(), f->opened);
}

TEST_F(LeafHang, TellsWhatAWatchOfTheNetworkHasToldOfTheLeaf) {
  w.event(FabricSaid{true, {{FabricFaultKind::dead_switch, {"leaf02"}, "it does not answer", 0.9, {NodeId{8}, NodeId{9}}}}});
  pass(minutes(1));
  for (const JobId id : there) hang(id);
  pass(minutes(5));
  const Finding* f = w.open(FindingKind::common_cause);
  ASSERT_NE(f, nullptr);
  const std::string& text = f->evidence.front().text;
  EXPECT_NE(text.find("; open there: finding "), std::string::npos) << text;
  EXPECT_NE(text.find(", dead_switch leaf02; no fault of a node is known: "), std::string::npos) << text;
  EXPECT_NE(text.find("n[8-11]"), std::string::npos) << text;
}

TEST_F(LeafHang, KeepsNewWorkAwayUntilNobodyHangsThere) {
  pass(minutes(1));
  for (const JobId id : there) lose(id);
  pass(minutes(5));
  const Finding* f = w.open(FindingKind::common_cause);
  ASSERT_NE(f, nullptr);
  EXPECT_FALSE(explains(*f)) << "no node is left alone for it";
  EXPECT_EQ(w.t.s.suspect_leaves, (std::map<std::uint32_t, std::uint32_t>{{2, 1}}));
  EXPECT_TRUE(placeable(w.t.s, NodeId{8})) << "a suspicion: what fits nowhere else still starts there";
  w.restart();
  pass(minutes(30));
  EXPECT_NE(w.open(FindingKind::common_cause), nullptr) << "a controller that starts anew knows it still";
  pass(minutes(35));
  EXPECT_EQ(w.open(FindingKind::common_cause), nullptr);
  EXPECT_TRUE(w.t.s.suspect_leaves.empty());
}

TEST_F(LeafHang, IsNotBlamedForOneOwnersJobs) {
  std::vector<JobId> mine;
  for (std::uint32_t i = 0; i < 3; ++i) mine.push_back(start("ada", {NodeId{5 + i}, NodeId{1 + i}}));
  pass(minutes(1));
  for (const JobId id : mine) lose(id);
  pass(minutes(6));
  EXPECT_EQ(w.open(FindingKind::common_cause), nullptr);
}

TEST_F(LeafHang, IsNotBlamedWhereJobsHangEverywhere) {
  pass(minutes(1));
  for (const JobId id : there) lose(id);
  for (std::size_t i = 0; i < others.size(); i += 4) lose(others[i]);
  pass(minutes(6));
  EXPECT_EQ(w.open(FindingKind::common_cause), nullptr);
}

TEST_F(LeafHang, IsNotBlamedForFaultsOfNodesThatAreKnown) {
  pass(minutes(1));
  for (const JobId id : there) lose(id);
  w.look();
  for (std::uint32_t i = 0; i < 3; ++i) w.t.open(w.t.find(FindingKind::gpu_lost, NodeId{8 + i}, 0));
  pass(minutes(6));
  EXPECT_TRUE(w.t.s.suspect_leaves.empty());
}

// Jobs that hang for reasons of their own, whoever they are.
TEST(LeafHangs, AreHardlyEverNamedByChance) {
  int named = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Prng prng(seed, "hangs");
    Watch w(64);
    for (std::uint32_t i = 0; i < 32; ++i) {
      JobSpec spec;
      spec.user = "user" + std::to_string(prng.below(8));
      spec.nodes = 2;
      w.t.tell(JobSubmitted{JobId{i + 1, 0}, spec});
      w.t.tell(JobStarted{JobId{i + 1, 0}, 1, {NodeId{i}, NodeId{i + 32}}});
    }
    for (int k = 0; k < 3; ++k) {
      const JobId id{static_cast<std::uint32_t>(1 + prng.below(32)), 0};
      w.event(JobEnded{id, 1, JobEnd::node_failed, {}, "lost", {}});
      w.look(minutes(1));
    }
    for (int i = 0; i < 6; ++i) w.look(minutes(1));
    named += w.t.s.suspect_leaves.empty() ? 0 : 1;
  }
  EXPECT_LE(named, 8);
}

}  // namespace
}  // namespace muster::detect
