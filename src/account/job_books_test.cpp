#include "account/job_books.h"

#include <gtest/gtest.h>

#include "base/prng.h"
#include "model/story.h"

namespace muster::account {
namespace {

constexpr NodeId kN0{0}, kN1{1}, kN2{2};
constexpr std::int64_t kMinute = 60'000;

std::size_t at(Waste w) { return static_cast<std::size_t>(w); }

// A story whose books are kept by the accountant and, beside him, job by job.
struct Kept {
  explicit Kept(std::uint32_t nodes = 4, std::size_t ended_max = kEndedJobsSummed) : t(nodes), by_job(ended_max) {
    Event e;
    e.utc = t.now().utc;
    e.body = SiteDeclared{t.s.site};
    take(e);
    t.heard = [this](const Event& x) { take(x); };
  }
  Kept(const Kept&) = delete;
  void take(const Event& e) {
    keep(books, e, t.s);
    by_job.take(e, t.s);
  }
  JobSums now() const { return by_job.close(t.s, t.s.mono()); }
  // Whole GPU-milliseconds.
  std::int64_t of_job(JobId id, Waste w) const {
    const JobSums s = now();
    const auto it = s.live.find(id);
    return it == s.live.end() ? 0 : it->second.amount[at(w)] / 1000;
  }
  std::int64_t of_cause(std::string_view name, Waste w) const {
    for (const auto& [cause, x] : since_the_beginning().causes) {
      if (name_of(cause) == name) return x.amount[at(w)] / 1000;
    }
    return 0;
  }
  Stretch since_the_beginning() const { return difference({}, now()); }

  Accounts books;
  Story t;
  JobBooks by_job;
};

void expect_same(const GpuHours& wanted, const Classes& got, const std::string& when) {
  GpuHours g;
  g.ms = got;
  g = whole(g);
  for (std::size_t i = 0; i < kWasteClasses; ++i) EXPECT_EQ(g.ms[i], wanted.ms[i]) << when << " " << names(Waste{})[i];
}

// By job, by owner and by cause: each sums to the accountant's balance.
void expect_exact(const Kept& k, const std::string& when = {}) {
  const GpuHours wanted = balance(k.books, k.t.s, k.t.s.mono());
  const JobSums s = k.now();
  EXPECT_EQ(s.installed, wanted.installed_ms * 1000) << when;
  Classes jobs = s.nobody, owners = s.nobody, causes{};
  const auto add = [](Classes& to, const Classes& x) {
    for (std::size_t i = 0; i < x.size(); ++i) to[i] += x[i];
  };
  add(jobs, s.forgotten);
  for (const auto& e : s.ended) {
    for (const JobSum& j : *e) add(jobs, j.amount);
  }
  for (const auto& [id, j] : s.live) add(jobs, j.amount);
  for (const auto& [owner, x] : s.owners) add(owners, x);
  for (const auto& [cause, x] : s.causes) {
    add(causes, x.amount);
    for (std::size_t i = 0; i < kWasteClasses; ++i) EXPECT_GE(x.amount[i], 0) << when << " " << name_of(cause);
  }
  expect_same(wanted, jobs, when + " by job");
  expect_same(wanted, owners, when + " by owner");
  expect_same(wanted, causes, when + " by cause");
}

JobId submit(Story& t, std::uint32_t number, std::string account, std::string queue = {}) {
  JobSpec spec;
  spec.name = "run";
  spec.user = "ada";
  spec.account = std::move(account);
  spec.queue = std::move(queue);
  const JobId id{number, 0};
  t.tell(JobSubmitted{id, spec});
  return id;
}

TEST(JobBooks, EveryJobHasItsOwnTimeAndNobodyTheRest) {
  Kept k;
  const JobId a = k.t.running({kN0, kN1});
  k.t.pass(minutes(10));
  const JobId b = k.t.running({kN2});
  k.t.pass(minutes(20));
  k.t.tell(JobProgressed{a, 1, {100, 100, 5 * kMinute, 2 * kMinute, kMinute}});
  EXPECT_EQ(k.of_job(a, Waste::useful), 16 * 22 * kMinute);
  EXPECT_EQ(k.of_job(a, Waste::starting), 16 * 5 * kMinute);
  EXPECT_EQ(k.of_job(a, Waste::checkpoint), 16 * 2 * kMinute);
  EXPECT_EQ(k.of_job(b, Waste::unsettled), 8 * 20 * kMinute);
  EXPECT_EQ(k.now().nobody[at(Waste::idle)] / 1000, 8 * (30 + 10) * kMinute);
  expect_exact(k);
}

TEST(JobBooks, AGangThatAFaultSlowedIsPutDownToWhatWasFoundOnItsNodes) {
  Kept k;
  const JobId hot = k.t.running({kN0, kN1}), other = k.t.running({kN2});
  const JobSums before = k.now();
  k.t.open(k.t.find(FindingKind::thermal_throttle, kN1));
  k.t.find(FindingKind::gpu_suspect, kN2);  // slows nobody
  k.t.pass(minutes(10));
  k.t.tell(JobProgressed{hot, 1, {100, 100, 0, 0, 3 * kMinute}});
  k.t.tell(JobProgressed{other, 1, {100, 100, 0, 0, 2 * kMinute}});
  const JobSums now = k.now();
  ASSERT_EQ(now.slowed.size(), 1U);
  EXPECT_EQ(name_of(now.slowed.begin()->first), "thermal_throttle");
  EXPECT_EQ(now.slowed.begin()->second, 16 * 3 * kMinute * 1000);
  EXPECT_EQ(now.causes.at({Why::slow}).amount[at(Waste::slow)], (16 * 3 + 8 * 2) * kMinute * 1000) << "no class has more by it";
  const Stretch s = difference(before, now);
  EXPECT_EQ(s.slowed.size(), 1U);
  EXPECT_FALSE(s.slowed.begin()->first.incident.some());
  EXPECT_TRUE(difference(now, now).slowed.empty());
  expect_exact(k);
}

TEST(JobBooks, TimeCountsForTheAccountThatTheJobHadWhenItWasBooked) {
  Kept k;
  const JobId j = submit(k.t, 1, "vision", "batch");
  k.t.tell(JobStarted{j, 1, {kN0}});
  k.t.pass(minutes(10));
  k.t.tell(JobProgressed{j, 1, {}});
  JobSpec spec = k.t.s.jobs.at(j).spec;
  spec.account = "speech";
  k.t.tell(JobAmended{j, spec});
  k.t.pass(minutes(5));
  k.t.tell(JobEnded{j, 1, JobEnd::completed, {}, {}});
  const JobSums s = k.now();
  EXPECT_EQ(s.owners.at({"vision", "batch"})[at(Waste::useful)] / 1000, 8 * 10 * kMinute);
  EXPECT_EQ(s.owners.at({"speech", "batch"})[at(Waste::useful)] / 1000, 8 * 5 * kMinute);
  EXPECT_EQ(s.live.at(j).who->account, "speech");
  expect_exact(k);
}

TEST(JobBooks, WhatNoJobHadIsPutDownToWhatHeldIt) {
  Kept k;
  k.t.drained(kN0, {}, "wish");
  k.t.open(k.t.find(FindingKind::gpu_lost, kN1, 1));
  k.t.tell(NodeChanged{kN2, NodeCondition::down, {}});
  k.t.pass(minutes(10));
  EXPECT_EQ(k.of_cause("held_by_person", Waste::drained), 8 * 10 * kMinute);
  EXPECT_EQ(k.of_cause("gpu_lost", Waste::down), 8 * 10 * kMinute);
  EXPECT_EQ(k.of_cause("node_down", Waste::down), 8 * 10 * kMinute);
  EXPECT_EQ(k.of_cause("idle", Waste::idle), 8 * 10 * kMinute);
  expect_exact(k);
}

TEST(JobBooks, ACauseCountsFromWhenItIsKnown) {
  Kept k;
  k.t.tell(NodeChanged{kN2, NodeCondition::down, {}});
  k.t.pass(minutes(10));
  k.t.open(k.t.find(FindingKind::host_fault, kN2));
  k.t.pass(minutes(3));
  EXPECT_EQ(k.of_cause("node_down", Waste::down), 8 * 10 * kMinute);
  EXPECT_EQ(k.of_cause("host_fault", Waste::down), 8 * 3 * kMinute);
  k.t.tell(NodeChanged{kN2, NodeCondition::booting, {}});
  k.t.pass(minutes(2));
  EXPECT_EQ(k.of_cause("host_fault", Waste::down), 8 * 5 * kMinute) << "a node that boots is still out for what was found";
  expect_exact(k);
}

TEST(JobBooks, LostStepsArePutDownToWhatWasFoundOnTheNodesOrToHowTheAttemptEnded) {
  Kept k;
  const JobId found = k.t.running({kN0});
  const JobId not_found = k.t.running({kN1});
  const JobId own_fault = k.t.running({kN2});
  k.t.pass(minutes(7));
  k.t.open(k.t.find(FindingKind::gpu_lost, kN0, 1));
  k.t.open(k.t.find(FindingKind::thermal_throttle, kN2, 1));
  k.t.tell(JobEnded{found, 1, JobEnd::node_failed, {}, {}});
  k.t.tell(JobEnded{not_found, 1, JobEnd::node_failed, {}, {}});
  k.t.tell(JobEnded{own_fault, 1, JobEnd::app_failed, {}, {}});
  EXPECT_EQ(k.of_cause("gpu_lost", Waste::lost_restart), 8 * 7 * kMinute);
  EXPECT_EQ(k.of_cause("node_failed", Waste::lost_restart), 8 * 7 * kMinute);
  EXPECT_EQ(k.of_cause("app_failed", Waste::lost_restart), 8 * 7 * kMinute);
  EXPECT_EQ(k.of_cause("thermal_throttle", Waste::lost_restart), 0);
  EXPECT_EQ(k.now().causes.at({Why::attempt, static_cast<std::uint8_t>(JobEnd::node_failed)}).losses, 1u);
  expect_exact(k);
}

TEST(JobBooks, ALossMovesToWhatIsFoundShortlyAfterTheEnd) {
  Kept k;
  const JobId cut = k.t.running({kN0, kN1});
  const JobId other = k.t.running({kN2});
  k.t.pass(minutes(7));
  k.t.tell(JobEnded{cut, 1, JobEnd::node_failed, {}, {}});
  k.t.tell(JobEnded{other, 1, JobEnd::node_failed, {}, {}});
  const JobSums before = k.now();
  EXPECT_EQ(k.of_cause("node_failed", Waste::lost_restart), 24 * 7 * kMinute);
  k.t.pass(minutes(1));
  k.t.open(k.t.find(FindingKind::link_down, kN1, 3));
  EXPECT_EQ(k.of_cause("link_down", Waste::lost_restart), 16 * 7 * kMinute);
  EXPECT_EQ(k.of_cause("node_failed", Waste::lost_restart), 8 * 7 * kMinute) << "nothing was found on the other's node";
  const JobSums now = k.now();
  EXPECT_EQ(k.since_the_beginning().causes.at({Why::finding, static_cast<std::uint8_t>(FindingKind::link_down)}).losses, 1u);
  EXPECT_EQ(now.causes.at({Why::attempt, static_cast<std::uint8_t>(JobEnd::node_failed)}).losses, 1u);
  ASSERT_EQ(now.live.at(cut).lost.size(), 1u);
  EXPECT_EQ(name_of(now.live.at(cut).lost[0].cause), "link_down");
  expect_exact(k);
  for (const Stretch& x : {difference(before, now), difference(only(before, cut), only(now, cut))}) {
    for (const auto& [cause, c] : x.causes) {
      EXPECT_GE(c.amount[at(Waste::lost_restart)], 0) << name_of(cause);
      EXPECT_EQ(c.losses, 0u) << name_of(cause) << ": it was lost before this stretch, whatever it is put down to now";
    }
  }
}

TEST(JobBooks, WhatWasPutDownToAnIncidentGoesByItsFinalName) {
  Kept k;
  const JobId cut = k.t.running({kN0, kN1});
  k.t.pass(minutes(7));
  k.t.tell(JobEnded{cut, 1, JobEnd::node_failed, {}, {}});
  const IncidentId incident = k.t.open(k.t.find(FindingKind::node_silent, kN1, -1, Witness::silence, Severity::warning));
  k.t.pass(minutes(10));
  const JobSums before = k.now();
  EXPECT_EQ(k.of_cause("node_silent", Waste::down), 8 * 10 * kMinute);
  EXPECT_EQ(k.of_cause("node_silent", Waste::lost_restart), 16 * 7 * kMinute);
  k.t.tell(IncidentJoined{incident, k.t.find(FindingKind::host_rebooted, kN1)});
  k.t.pass(minutes(5));
  EXPECT_EQ(k.of_cause("node_silent", Waste::down), 0) << "one node, one name";
  EXPECT_EQ(k.of_cause("node_silent", Waste::lost_restart), 0);
  EXPECT_GE(k.of_cause("host_rebooted", Waste::down), 8 * 10 * kMinute);
  EXPECT_EQ(k.of_cause("host_rebooted", Waste::lost_restart), 16 * 7 * kMinute);
  expect_exact(k);
  const JobSums now = k.now();
  for (const Stretch& x : {difference(before, now), difference(only(before, cut), only(now, cut))}) {
    for (const auto& [cause, c] : x.causes) {
      EXPECT_GE(c.amount[at(Waste::down)], 0) << name_of(cause);
      EXPECT_EQ(c.losses, 0u) << name_of(cause);
    }
  }
}

TEST(JobBooks, ALossStaysWhereItIsWhenWhatIsFoundCameTooLateOrEndsNoGang) {
  Kept k;
  const JobId late = k.t.running({kN0});
  const JobId asked = k.t.running({kN1});
  const JobId slow = k.t.running({kN2});
  k.t.pass(minutes(7));
  k.t.tell(JobEnded{late, 1, JobEnd::node_failed, {}, {}});
  k.t.tell(JobEnded{asked, 1, JobEnd::requeued, {}, {}});
  k.t.tell(JobEnded{slow, 1, JobEnd::node_failed, {}, {}});
  k.t.pass(minutes(1));
  k.t.find(FindingKind::link_flap, kN1, 3);
  k.t.find(FindingKind::slow_gpu, kN2, 3, Witness::job, Severity::warning);
  k.t.pass(minutes(4));
  k.t.open(k.t.find(FindingKind::gpu_lost, kN0, 3));
  EXPECT_EQ(k.of_cause("node_failed", Waste::lost_restart), 16 * 7 * kMinute);
  EXPECT_EQ(k.of_cause("requeued", Waste::lost_restart), 8 * 7 * kMinute);
  EXPECT_EQ(k.of_cause("gpu_lost", Waste::lost_restart), 0) << "its first sign is five minutes younger than the end";
  expect_exact(k);
}

TEST(JobBooks, AFindingThatIsNoIncidentExplainsALossToo) {
  Kept k;
  const JobId before = k.t.running({kN0}), after = k.t.running({kN1});
  k.t.pass(minutes(7));
  k.t.find(FindingKind::link_flap, kN0, 3);
  k.t.tell(JobEnded{before, 1, JobEnd::node_failed, {}, {}});
  k.t.tell(JobEnded{after, 1, JobEnd::node_failed, {}, {}});
  k.t.find(FindingKind::link_flap, kN1, 3);
  EXPECT_EQ(k.of_cause("link_flap", Waste::lost_restart), 16 * 7 * kMinute);
  EXPECT_EQ(k.of_cause("node_failed", Waste::lost_restart), 0);
  expect_exact(k);
}

TEST(JobBooks, EveryCauseHasANameOfItsOwn) {
  std::set<std::string_view> seen;
  std::size_t causes = 0;
  const auto see = [&](Cause c) {
    ++causes;
    seen.insert(name_of(c));
  };
  for (std::size_t i = 0; i < names(FindingKind{}).size(); ++i) see({Why::finding, static_cast<std::uint8_t>(i)});
  for (std::size_t i = 0; i < names(JobEnd{}).size(); ++i) see({Why::attempt, static_cast<std::uint8_t>(i)});
  for (auto w = Why::work; w <= Why::unknown; w = static_cast<Why>(static_cast<int>(w) + 1)) {
    if (w != Why::finding && w != Why::attempt) see({w});
  }
  EXPECT_EQ(seen.size(), causes);
}

TEST(JobBooks, OfManyEndedJobsTheOldestAreKnownByTheirAccountOnly) {
  Kept k(4, 4);
  for (std::uint32_t i = 1; i <= 40; ++i) {
    const JobId j = submit(k.t, i, i % 2 == 0 ? "even" : "odd");
    k.t.tell(JobStarted{j, 1, {kN0}});
    k.t.pass(minutes(1));
    k.t.tell(JobEnded{j, 1, JobEnd::completed, {}, {}});
    expect_exact(k, std::to_string(i));
  }
  const JobSums s = k.now();
  std::size_t known = s.live.size();
  for (const auto& e : s.ended) known += e->size();
  EXPECT_LE(known, 12u);
  EXPECT_EQ(known + s.jobs_forgotten, 40u);
  EXPECT_EQ(s.owners.at({"even", "even"})[at(Waste::useful)] / 1000, 20 * 8 * kMinute);
}

TEST(JobBooks, AStretchIsWhatCameBetweenTwoMoments) {
  Kept k;
  const JobId a = submit(k.t, 1, "vision");
  k.t.tell(JobStarted{a, 1, {kN0}});
  k.t.pass(minutes(30));
  const JobSums from = k.now();
  k.t.pass(minutes(10));
  k.t.tell(JobProgressed{a, 1, {}});
  const JobId b = submit(k.t, 2, "vision");
  k.t.tell(JobStarted{b, 1, {kN1}});
  k.t.pass(minutes(5));
  const Stretch x = difference(from, k.now());
  EXPECT_EQ(x.installed, sum(x.classes));
  EXPECT_EQ(x.installed / 1000, 32 * 15 * kMinute);
  EXPECT_EQ(x.unsettled_before / 1000, 8 * 30 * kMinute);
  EXPECT_EQ(x.classes[at(Waste::useful)] / 1000, 8 * 40 * kMinute) << "work of before that was settled now counts now";
  EXPECT_EQ(x.classes[at(Waste::unsettled)] / 1000, 8 * (5 + 5 - 30) * kMinute);
  ASSERT_EQ(x.jobs.size(), 2u);
  EXPECT_EQ(sum(x.jobs[0].amount) / 1000, 8 * 15 * kMinute);
  EXPECT_EQ(sum(x.jobs[1].amount) / 1000, 8 * 5 * kMinute);
  EXPECT_EQ(x.owners.at({"vision", "vision"}).jobs, 2u);
  EXPECT_EQ(sum(x.owners.at({"vision", "vision"}).amount), sum(x.jobs[0].amount) + sum(x.jobs[1].amount));
}

TEST(JobBooks, AStretchThatBeginsBeforeTheBooksBeginsWithThem) {
  Kept k;
  k.t.pass(minutes(10));
  EXPECT_EQ(difference(JobSums{}, k.now()).installed / 1000, 32 * 10 * kMinute);
  const JobSums old = k.now();
  k.t.tell(SiteDeclared{small_site(2)});
  k.t.pass(minutes(4));
  EXPECT_EQ(difference(old, k.now()).installed / 1000, 16 * 4 * kMinute) << "what was there before is another site";
}

// ---------------------------------------------------------------- any history

struct Chaos {
  Prng& prng;
  Kept& k;
  std::map<JobId, Progress> progress;

  NodeId node() { return NodeId{static_cast<std::uint32_t>(prng.below(k.t.s.nodes.size()))}; }
  std::string word(const char* of) { return of + std::to_string(prng.below(3)); }

  void of_job(JobId id) {
    const Job* j = find_job(k.t.s, id);
    JobSpec spec;
    spec.name = "chaos";
    spec.account = word("account");
    spec.queue = word("queue");
    if (prng.chance(0.4)) spec.gpu_milli = static_cast<std::uint32_t>(1 + prng.below(999));
    if (j == nullptr) return k.t.tell(JobSubmitted{id, spec});
    const NodeId a = node(), b = node();
    const std::vector<NodeId> where = a == b ? std::vector<NodeId>{a} : std::vector<NodeId>{std::min(a, b), std::max(a, b)};
    std::vector<std::uint16_t> slots;
    if (j->spec.gpu_milli > 0 || prng.chance(0.4)) slots.assign(where.size(), static_cast<std::uint16_t>(1U << prng.below(8)));
    const auto end = static_cast<JobEnd>(prng.below(6));
    Progress& p = progress[id];
    switch (prng.below(9)) {
      case 0: return j->phase == JobPhase::queued ? void(k.t.order_start(id, where)) : void();
      case 1: p = {}; return k.t.tell(JobStarted{id, j->attempt, j->nodes});
      case 2: p = {}; return k.t.tell(JobStarted{id, j->attempt + 1, where, slots});
      case 3:
        p.init_ms += static_cast<std::int64_t>(prng.below(100'000));
        p.checkpoint_ms += static_cast<std::int64_t>(prng.below(100'000));
        p.slow_ms += static_cast<std::int64_t>(prng.below(400'000));
        return k.t.tell(JobProgressed{id, j->attempt, p});
      case 4: return k.t.tell(JobEnded{id, j->attempt, end, p, {}});
      case 5: return k.t.tell(JobRequeued{id});
      case 6: return k.t.tell(JobAmended{id, spec});
      case 7: return void(k.t.order_restart(id, where, slots));
      default: return k.t.tell(JobGone{id, end});
    }
  }
  void of_node() {
    const NodeId n = node();
    const auto condition = static_cast<NodeCondition>(prng.below(4));
    const auto kind = static_cast<FindingKind>(prng.below(names(FindingKind{}).size()));
    const bool yes = prng.chance(0.5);
    const IncidentId i = k.t.s.nodes[n.v].incident;
    const std::string key = "j-" + std::to_string(1 + prng.below(k.t.s.totals.orders + 1));
    switch (prng.below(7)) {
      case 0: return k.t.tell(NodeChanged{n, condition, {}});
      case 1: return i.some() ? k.t.tell(IncidentClosed{i, "x"}) : void(k.t.open(k.t.find(kind, n, 1)));
      case 2: return k.t.drained(n, i, yes ? "w" : "");
      case 3: k.t.order(yes ? Verb::drain_node : Verb::undrain_node, n, i); return;
      case 4: return k.t.tell(NodeHeld{n, yes, "bob", "why", prng.chance(0.5)});
      case 5: return i.some() ? k.t.tell(IncidentJoined{i, k.t.find(kind, n, 2)}) : void();
      default: return k.t.ends(key, static_cast<Status>(prng.below(6)));
    }
  }
  void one() {
    const std::uint64_t what = prng.below(10);
    const JobId id{static_cast<std::uint32_t>(1 + prng.below(30)), 0};
    if (what < 5) return of_job(id);
    if (what < 8) return of_node();
    k.t.pass(milliseconds(static_cast<std::int64_t>(prng.below(300'000))));
  }
};

TEST(JobBooks, OneJobAloneHasWhatItWasGivenAndWhatItLost) {
  Kept k;
  const JobId one = submit(k.t, 1, "vision"), other = submit(k.t, 2, "speech");
  k.t.tell(JobStarted{one, 1, {kN0}});
  k.t.tell(JobStarted{other, 1, {kN1}});
  k.t.pass(minutes(10));
  const JobSums earlier = k.now();
  k.t.open(k.t.find(FindingKind::gpu_lost, kN0, 3));
  k.t.tell(JobEnded{one, 1, JobEnd::node_failed, {}, {}});
  k.t.pass(minutes(10));
  const JobSums mine = only(k.now(), one);
  EXPECT_EQ(mine.installed, 8 * 10 * kMinute * 1000);
  ASSERT_EQ(mine.causes.size(), 1u);
  EXPECT_EQ(name_of(mine.causes.begin()->first), "gpu_lost");
  EXPECT_EQ(mine.causes.begin()->second.losses, 1u);
  EXPECT_EQ(mine.causes.begin()->second.amount[at(Waste::lost_restart)], mine.installed);
  const Stretch since = difference(only(earlier, one), mine);
  EXPECT_EQ(since.installed, 0) << "it was given nothing more";
  EXPECT_EQ(since.unsettled_before, mine.installed);
  EXPECT_EQ(since.classes[at(Waste::unsettled)], -mine.installed) << "what was unsettled is lost now";
  EXPECT_TRUE(only(k.now(), {99, 0}).live.empty());
}

TEST(JobBooks, JobsAndTheRestSumToTheBalanceAfterAnyHistory) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Prng prng(seed, "job books");
    Kept k(5, seed % 2 == 0 ? 3 : kEndedJobsSummed);
    Chaos chaos{prng, k, {}};
    JobSums earlier;
    for (int step = 0; step < 250; ++step) {
      chaos.one();
      const std::string when = "seed " + std::to_string(seed) + " step " + std::to_string(step);
      expect_exact(k, when);
      if (step == 100) earlier = k.now();
      if (step > 100) {
        const Stretch x = difference(earlier, k.now());
        EXPECT_EQ(sum(x.classes), x.installed) << when;
        std::int64_t owned = sum(x.nobody);
        for (const auto& [owner, o] : x.owners) owned += sum(o.amount);
        EXPECT_EQ(owned, x.installed) << when;
        const JobSums now = k.now();
        for (std::size_t i = 0; now.jobs_forgotten == 0 && step == 249 && i < x.jobs.size(); ++i) {
          const JobId id = x.jobs[i].id;
          EXPECT_EQ(difference(only(earlier, id), only(now, id)).classes, x.jobs[i].amount) << when << " of " << render(id);
        }
      }
      if (::testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace muster::account
