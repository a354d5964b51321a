#include "account/accountant.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/prng.h"
#include "model/codec.h"
#include "model/story.h"

namespace muster::account {
namespace {

constexpr NodeId kN0{0}, kN1{1}, kN2{2};
constexpr std::int64_t kMinute = 60'000;

// A story whose books are kept from its first event on.
struct Kept {
  explicit Kept(std::uint32_t nodes = 4) : t(nodes) {
    Event e;
    e.body = SiteDeclared{t.s.site};
    keep(books, e, t.s);
    t.heard = [this](const Event& x) { keep(books, x, t.s); };
  }
  Kept(const Kept&) = delete;
  GpuHours now() const { return balance(books, t.s, t.s.mono()); }

  Accounts books;
  Story t;
};

void expect_exact(const Kept& k, const std::string& when = {}) {
  const GpuHours g = k.now();
  EXPECT_EQ(std::accumulate(g.ms.begin(), g.ms.end(), std::int64_t{0}), g.installed_ms) << when;
  for (std::size_t i = 0; i < g.ms.size(); ++i) EXPECT_GE(g.ms[i], 0) << when << " " << names(Waste{})[i];
}

TEST(Books, AnEmptyClusterIsIdle) {
  Kept k;
  k.t.pass(minutes(10));
  EXPECT_EQ(k.now()[Waste::idle], 4 * 8 * 10 * kMinute);
  expect_exact(k);
}

TEST(Books, TimeIsUnsettledUntilACheckpointAndUsefulFromThenOn) {
  Kept k;
  const JobId j = k.t.running({kN0, kN1});
  k.t.pass(minutes(30));
  EXPECT_EQ(k.now()[Waste::unsettled], 16 * 30 * kMinute);
  EXPECT_EQ(k.now()[Waste::useful], 0);
  k.t.tell(JobProgressed{j, 1, {100, 100, 5 * kMinute, 2 * kMinute, kMinute}});
  EXPECT_EQ(k.now()[Waste::unsettled], 0);
  EXPECT_EQ(k.now()[Waste::starting], 16 * 5 * kMinute);
  EXPECT_EQ(k.now()[Waste::checkpoint], 16 * 2 * kMinute);
  EXPECT_EQ(k.now()[Waste::slow], 16 * kMinute);
  EXPECT_EQ(k.now()[Waste::useful], 16 * 22 * kMinute);
  expect_exact(k);
}

TEST(Books, WhatIsLostWithAGangIsExactlyTheTimeSinceItsLastCheckpoint) {
  Kept k;
  const JobId j = k.t.running({kN0, kN1});
  k.t.pass(minutes(30));
  k.t.tell(JobProgressed{j, 1, {100, 100, 0, 0, 0}});
  k.t.pass(minutes(7));
  k.t.tell(JobEnded{j, 1, JobEnd::node_failed, {123, 100, 0, 0, 0}, "rank lost"});
  EXPECT_EQ(k.now()[Waste::lost_restart], 16 * 7 * kMinute);
  EXPECT_EQ(k.now()[Waste::useful], 16 * 30 * kMinute);
  k.t.pass(minutes(3));
  EXPECT_EQ(k.now()[Waste::lost_restart], 16 * 7 * kMinute) << "afterwards its nodes are idle";
  expect_exact(k);
}

TEST(Books, TheEndOfACompletedJobIsUseful) {
  Kept k;
  const JobId j = k.t.running({kN0});
  k.t.pass(minutes(7));
  k.t.tell(JobEnded{j, 1, JobEnd::completed, {}, {}});
  EXPECT_EQ(k.now()[Waste::useful], 8 * 7 * kMinute);
  EXPECT_EQ(k.now()[Waste::lost_restart], 0);
  expect_exact(k);
}

TEST(Books, AGangIsStartingFromTheOrderOn) {
  Kept k;
  const JobId j = k.t.submit(1);
  k.t.order_start(j, {kN0});
  k.t.pass(minutes(2));
  k.t.tell(JobStarted{j, 1, {kN0}});
  EXPECT_EQ(k.now()[Waste::starting], 8 * 2 * kMinute);
  expect_exact(k);
}

TEST(Books, AStartThatDidNotHappenIsOver) {
  Kept k;
  const JobId j = k.t.submit(1);
  const std::string key = k.t.order_start(j, {kN0});
  k.t.pass(minutes(2));
  k.t.ends(key, Status::refused);
  k.t.pass(minutes(2));
  EXPECT_EQ(k.now()[Waste::starting], 8 * 2 * kMinute);
  EXPECT_EQ(k.now()[Waste::idle], 8 * (3 * 4 + 2) * kMinute);
  expect_exact(k);
}

TEST(Books, DrainedAndDownHaveTheirOwnClasses) {
  Kept k;
  k.t.drained(kN0, {}, "wish");
  k.t.open(k.t.find(FindingKind::gpu_lost, kN1, 1));
  k.t.tell(NodeChanged{kN2, NodeCondition::down, {}});
  k.t.pass(minutes(10));
  EXPECT_EQ(k.now()[Waste::drained], 8 * 10 * kMinute);
  EXPECT_EQ(k.now()[Waste::down], 2 * 8 * 10 * kMinute) << "a lost GPU leaves nothing to run on, drained or not";
  EXPECT_EQ(k.now()[Waste::idle], 8 * 10 * kMinute);
  expect_exact(k);
}

TEST(Books, AGangOnADrainedNodeStillCountsAsAGang) {
  Kept k;
  const JobId j = k.t.running({kN0});
  k.t.drained(kN0, k.t.open(k.t.find(FindingKind::thermal_throttle, kN0, 1)));
  k.t.pass(minutes(10));
  EXPECT_EQ(k.now()[Waste::drained], 0);
  k.t.tell(JobEnded{j, 1, JobEnd::completed, {}, {}});
  k.t.pass(minutes(5));
  EXPECT_EQ(k.now()[Waste::drained], 8 * 5 * kMinute);
  expect_exact(k);
}

TEST(Books, WhatIsSaidOfAnotherAttemptChangesNothing) {
  Kept k;
  const JobId j = k.t.running({kN0});
  k.t.tell(JobEnded{j, 1, JobEnd::node_failed, {}, {}});
  k.t.tell(JobRequeued{j});
  k.t.tell(JobStarted{j, 2, {kN1}});
  k.t.pass(minutes(5));
  const std::string before = encode_accounts(k.books);
  k.t.tell(JobProgressed{j, 1, {9, 9, 9, 9, 9}});
  k.t.tell(JobEnded{j, 1, JobEnd::completed, {}, {}});
  EXPECT_EQ(encode_accounts(k.books), before);
  expect_exact(k);
}

TEST(Books, GoodputIsTheUsefulShareOfWhatWasUsed) {
  GpuHours g;
  EXPECT_EQ(goodput(g), -1) << "nothing is settled yet";
  g.installed_ms = 200;
  g[Waste::idle] = 80;
  g[Waste::unsettled] = 20;
  g[Waste::useful] = 90;
  g[Waste::down] = 10;
  EXPECT_DOUBLE_EQ(goodput(g), 0.9);
}

TEST(Books, JobsThatShareANodeHaveTheirOwnTimeEach) {
  Kept k(1);
  const JobId half = k.t.submit(1);
  const JobId other = k.t.submit(1);
  k.t.tell(JobStarted{half, 1, {kN0}, {0x0f}});
  k.t.pass(minutes(10));
  k.t.tell(JobStarted{other, 1, {kN0}, {0x30}});  // whoever comes beside it takes nothing of its time
  k.t.pass(minutes(20));
  k.t.tell(JobEnded{half, 1, JobEnd::completed, {1000, 1000, 0, 0, 0}, {}});
  EXPECT_EQ(k.now()[Waste::useful], 4 * 30 * kMinute);
  EXPECT_EQ(k.now()[Waste::unsettled], 2 * 20 * kMinute);
  EXPECT_EQ(k.now()[Waste::idle], 4 * 10 * kMinute + 2 * 20 * kMinute);
  EXPECT_EQ(k.now()[Waste::lost_restart], 0);
  expect_exact(k);
}

// ---------------------------------------------------------------- any history

struct Chaos {
  Prng& prng;
  Kept& k;
  std::map<JobId, Progress> progress;

  NodeId node() { return NodeId{static_cast<std::uint32_t>(prng.below(k.t.s.nodes.size()))}; }
  JobId job() { return JobId{static_cast<std::uint32_t>(1 + prng.below(8)), 0}; }

  void of_job(JobId id) {
    const NodeId a = node();
    const NodeId b = node();
    const Job* j = find_job(k.t.s, id);
    if (j == nullptr) {
      const bool shared = prng.chance(0.4);
      JobSpec spec;
      spec.name = "chaos";
      if (shared) spec.gpu_milli = static_cast<std::uint32_t>(1 + prng.below(999));
      k.t.tell(JobSubmitted{id, spec});
      return;
    }
    const auto end = static_cast<JobEnd>(prng.below(5));
    const auto more = static_cast<std::int64_t>(prng.below(400'000));
    const std::vector<NodeId> where = a == b ? std::vector<NodeId>{a} : std::vector<NodeId>{std::min(a, b), std::max(a, b)};
    Progress& p = progress[id];
    std::vector<std::uint16_t> slots;
    if (j->spec.gpu_milli > 0 || prng.chance(0.4)) slots.assign(where.size(), static_cast<std::uint16_t>(1U << prng.below(8)));
    switch (prng.below(10)) {
      case 8: return k.t.tell(JobStarted{id, j->attempt + 1, where, slots});
      case 9: {
        k.t.order_restart(id, where, slots);
        return;
      }
      case 0: return j->phase == JobPhase::queued ? void(k.t.order_start(id, where)) : void();
      case 1: p = {}; return k.t.tell(JobStarted{id, j->attempt, j->nodes});
      case 2: p = {}; return k.t.tell(JobStarted{id, j->attempt + 1, where});  // not as ordered, or by nobody's order
      case 3:
        p.init_ms += more / 4;
        p.checkpoint_ms += more / 3;
        p.slow_ms += more;  // more than the time that passed: an engine's word is not trusted
        return k.t.tell(JobProgressed{id, j->attempt, p});
      case 4: return k.t.tell(JobEnded{id, j->attempt, end, p, {}});
      case 5: return k.t.tell(JobEnded{id, j->attempt + 3, end, p, {}});
      case 6: return k.t.tell(JobRequeued{id});
      default: return k.t.tell(JobGone{id, end});
    }
  }
  void of_node() {
    const NodeId n = node();
    const auto condition = static_cast<NodeCondition>(prng.below(3));
    const bool wish = prng.chance(0.3);
    const IncidentId i = k.t.s.nodes[n.v].incident;
    const std::string key = "j-" + std::to_string(1 + prng.below(k.t.s.totals.orders + 1));
    const auto status = static_cast<Status>(prng.below(6));
    switch (prng.below(6)) {
      case 0: return k.t.tell(NodeChanged{n, condition, {}});
      case 1: return i.some() ? k.t.tell(IncidentClosed{i, "x"}) : void(k.t.open(k.t.find(FindingKind::gpu_lost, n, 1)));
      case 2: return k.t.drained(n, i, wish ? "w" : "");
      case 3: k.t.order(wish ? Verb::drain_node : Verb::undrain_node, n, i); return;
      case 4: return k.t.tell(RunStarted{"again", k.t.s.epoch + 1, 1, "j", k.t.now()});
      default: return k.t.ends(key, status);
    }
  }
  void one() {
    const JobId id = job();
    const auto wait = static_cast<std::int64_t>(prng.below(300'000));
    const std::uint64_t what = prng.below(10);
    if (what < 5) return of_job(id);
    if (what < 8) return of_node();
    k.t.pass(milliseconds(wait));
  }
};

TEST(Books, TheClassesSumToWhatIsInstalledAfterAnyHistory) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Prng prng(seed, "books");
    Kept k(5);
    Chaos chaos{prng, k, {}};
    for (int step = 0; step < 250; ++step) {
      chaos.one();
      expect_exact(k, "seed " + std::to_string(seed) + " step " + std::to_string(step));
      if (::testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace muster::account
