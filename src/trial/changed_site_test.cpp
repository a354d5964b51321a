#include "trial/changed_site.h"

#include <gtest/gtest.h>

#include "model/state_fields.h"
#include "trial/compare.h"
#include "trial/controlled.h"

namespace muster::trial {
namespace {

// Every node that anything in a state names, found by way of the field lists: what a new field names is looked at too.
struct NamedNodes {
  std::vector<NodeId> all;
  template <class T>
  void operator()(std::string_view, T& t) {
    look(t);
  }
  template <class T>
  void look(const T& t) {
    if constexpr (std::is_same_v<T, NodeId>) {
      if (t.some()) all.push_back(t);
    } else if constexpr (std::is_same_v<T, std::string>) {
    } else if constexpr (requires { t.begin(); }) {
      for (const auto& e : t) look(e);
    } else if constexpr (requires { t.second; }) {
      look(t.first);
      look(t.second);
    } else if constexpr (requires(NamedNodes & v, T & x) { fields(v, x); }) {
      fields(*this, const_cast<T&>(t));
    }
  }
};

std::size_t out_of_range(const State& s) {
  NamedNodes seen;
  seen.look(s);
  EXPECT_FALSE(seen.all.empty());
  return static_cast<std::size_t>(
      std::count_if(seen.all.begin(), seen.all.end(), [&](NodeId n) { return n.v >= s.nodes.size(); }));
}

control::Books after_hours(std::int64_t h) {
  Controlled c(stormy(3, 3'000), roomy_policy());
  c.run(hours(h));
  auto books = control::restore(c.journal, PlainJson::parse);
  EXPECT_TRUE(books);
  return *books;
}

JobId running_on(const State& s, NodeId n) { return s.nodes[n.v].first_job(); }

TEST(ChangedSite, NewNodesComeInRacksAndLeavesOfTheUsualSizes) {
  const Site site = stormy().site;  // racks and leaves of four, one pod
  const auto c = change_site(site, {.add = 6});
  ASSERT_TRUE(c) << c.error().what;
  ASSERT_EQ(c->site.nodes.size(), 30U);
  EXPECT_EQ(c->site.racks, (std::vector<std::string>{"r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8"}));
  EXPECT_EQ(c->site.leaves, 8U);
  EXPECT_EQ(c->site.pods, 2U) << "the pod that is there has as many leaves as any";
  EXPECT_EQ(c->site.domains, 30U);
  EXPECT_EQ(c->site.nodes[24].name, "node25");
  EXPECT_EQ(c->site.nodes[27].rack, 6U);
  EXPECT_EQ(c->site.nodes[28].rack, 7U);
  EXPECT_EQ(c->site.nodes[29].leaf, 7U);
  EXPECT_EQ(c->added, 6U);
  for (std::uint32_t n = 0; n < 24; ++n) EXPECT_EQ(c->now_at[n], NodeId{n});
}

TEST(ChangedSite, NamesGoOnWithTheirWidthAndNeverTwice) {
  Site site = stormy().site;
  for (std::size_t i = 0; i < site.nodes.size(); ++i) site.nodes[i].name = "gpu-0" + std::to_string(10 + i);
  site.nodes[0].name = "gpu-034";  // out of order
  const auto c = change_site(site, {.add = 2});
  ASSERT_TRUE(c);
  EXPECT_EQ(c->site.nodes[24].name, "gpu-035");
  site.nodes.back().name = "last.of.them";
  const auto d = change_site(site, {.add = 2});
  ASSERT_TRUE(d);
  EXPECT_EQ(d->site.nodes[24].name, "last.of.them-added1");
  EXPECT_EQ(d->site.nodes[25].name, "last.of.them-added2");
}

TEST(ChangedSite, WhatIsLeftIsNumberedWithoutGaps) {
  Site site = stormy().site;
  site.rack_row = {0, 0, 1, 1, 2, 2};
  site.pools = {{"all", {}}, {"first", {NodeId{0}, NodeId{9}}}};
  for (std::uint32_t n = 0; n < 24; ++n) site.pools[0].nodes.push_back(NodeId{n});
  SiteChange change{.remove = 1};
  for (int n = 9; n <= 16; ++n) change.remove_named.push_back("node" + std::to_string(n));  // racks r3 and r4: the second row
  const auto c = change_site(site, change);
  ASSERT_TRUE(c) << c.error().what;
  EXPECT_EQ(c->site.nodes.size(), 15U);
  EXPECT_EQ(c->site.racks, (std::vector<std::string>{"r1", "r2", "r5", "r6"}));
  EXPECT_EQ(c->site.rack_row, (std::vector<std::uint32_t>{0, 0, 1, 1}));
  EXPECT_EQ(c->row_now_at, (std::vector<std::uint32_t>{0, kNoRow, 1}));
  EXPECT_EQ(c->site.leaves, 4U);
  EXPECT_EQ(c->now_at[8], NodeId{});
  EXPECT_EQ(c->now_at[16], NodeId{8});
  EXPECT_EQ(c->now_at[23], NodeId{}) << "the last one that was not named";
  EXPECT_EQ(c->site.nodes[8].name, "node17");
  EXPECT_EQ(c->site.nodes[8].leaf, 2U);
  EXPECT_EQ(c->site.pools[0].nodes.size(), 15U);
  EXPECT_EQ(c->site.pools[1].nodes, std::vector<NodeId>{NodeId{0}});
}

TEST(ChangedSite, CablesFollowTheirNodes) {
  Site site = stormy().site;
  CableTable t;
  t.switches = {"leaf01"};
  t.nics = {0 * Cabling::kNicsMax + 3, 1 * Cabling::kNicsMax + 5};
  t.far_ends = {0, 0};
  t.ports = {"1", "2"};
  t.labels = {"a", "b"};
  site.cables.set(t);
  const auto c = change_site(site, {.remove_named = {"node1"}});
  ASSERT_TRUE(c);
  ASSERT_TRUE(c->site.cables.at(NodeId{0}, 5));
  EXPECT_EQ(c->site.cables.at(NodeId{0}, 5)->label, "b");
  EXPECT_FALSE(c->site.cables.at(NodeId{0}, 3));
}

TEST(ChangedSite, WhatCannotBeIsRefused) {
  const Site site = stormy().site;
  EXPECT_EQ(change_site(site, {.remove = 24}).error().code, Code::bad_input);
  EXPECT_EQ(change_site(site, {.remove = 99}).error().code, Code::bad_input);
  const auto unknown = change_site(site, {.remove_named = {"node123"}});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Code::not_found);
  EXPECT_NE(unknown.error().next.find("node"), std::string::npos);
}

TEST(ChangedBooks, NothingChangedIsTheSameState) {
  const control::Books books = after_hours(4);
  const auto c = change_site(books.state.site, {});
  ASSERT_TRUE(c);
  EXPECT_EQ(encode_state(change_books(books, *c).state), encode_state(books.state));
}

TEST(ChangedBooks, FaultsOfTheNetworkFollowTheirLeaf) {
  control::Books books = after_hours(1);
  for (std::int16_t leaf = 1; leaf <= 2; ++leaf) {
    Finding f;
    f.id = FindingId{900U + static_cast<unsigned>(leaf)};
    f.kind = FindingKind::fabric_fault;
    f.slot = leaf;
    f.subject = "missing_cable leaf" + std::to_string(leaf) + "[17] - spine0[1]";
    books.state.findings[f.id] = f;
  }
  SiteChange change;
  for (int n = 5; n <= 8; ++n) change.remove_named.push_back("node" + std::to_string(n));  // leaf 1, of four
  const auto c = change_site(books.state.site, change);
  ASSERT_TRUE(c) << c.error().what;
  const State s = change_books(books, *c).state;
  EXPECT_EQ(s.findings.at(FindingId{901}).slot, -1);
  EXPECT_EQ(s.findings.at(FindingId{902}).slot, 1);
  EXPECT_EQ(s.suspect_leaves, (std::map<std::uint32_t, std::uint32_t>{{1, 1}}));
}

TEST(ChangedBooks, WorkOnNodesThatGoIsQueuedAgainAndNothingNamesThemAnyMore) {
  const control::Books books = after_hours(8);
  const State& before = books.state;
  NodeId busy;
  for (std::uint32_t n = 0; n < before.nodes.size() && !busy.some(); ++n) {
    const Job* j = find_job(before, running_on(before, NodeId{n}));
    if (j != nullptr && j->phase == JobPhase::running) busy = NodeId{n};
  }
  ASSERT_TRUE(busy.some()) << "a history without work shows nothing";
  const JobId id = running_on(before, busy);
  SiteChange change{.remove = 3};
  change.remove_named = {before.site.nodes[busy.v].name};
  const auto c = change_site(before.site, change);
  ASSERT_TRUE(c) << c.error().what;
  EXPECT_GE(jobs_to_stop(before, *c), 1U);
  const control::Books after = change_books(books, *c);
  const State& s = after.state;
  EXPECT_EQ(s.nodes.size(), 20U);
  EXPECT_EQ(after.accounts.nodes.size(), 20U);
  EXPECT_EQ(s.seq, before.seq) << "nothing was written";
  EXPECT_EQ(out_of_range(s), 0U);
  const Job& j = s.jobs.at(id);
  EXPECT_EQ(j.phase, JobPhase::queued);
  EXPECT_TRUE(j.nodes.empty() || s.nodes[j.nodes[0].v].first_job() != id);
  EXPECT_TRUE(s.queue.contains({j.order, id}));
  EXPECT_EQ(j.progress.durable_steps, before.jobs.at(id).progress.durable_steps);
  EXPECT_FALSE(after.accounts.jobs.contains(id));
  for (const NodeState& n : s.nodes) {
    for (const Share& x : n.shares) {
      const Job* holder = find_job(s, x.job);
      ASSERT_NE(holder, nullptr);
      EXPECT_NE(x.job, id);
      EXPECT_EQ(holder->slots.empty() || holder->slots.size() == holder->nodes.size(), true);
    }
    EXPECT_EQ(n.incident.some(), find_incident(s, n.incident) != nullptr);
  }
}

TEST(ChangedBooks, AClusterOfAnotherSizeRunsOnAndItsBooksBalance) {
  CompareOptions o;
  o.run.twin = stormy(1, 1'000);
  o.from = after_hours(6);
  o.run.length = hours(8);
  o.seeds = 2;
  o.judged = Judged::work;
  o.make_journal = [] { return std::make_unique<KeptJournal>(); };
  o.contenders = {{"as it is", roomy_policy()},
                  {"more", roomy_policy(), {.add = 8}},
                  {"fewer", roomy_policy(), {.remove_named = {"node1", "node10", "node20"}}}};
  const auto r = compare(o);
  ASSERT_TRUE(r) << r.error().what;
  const std::array<std::uint32_t, 3> nodes = {24, 32, 21};
  for (std::size_t who = 0; who < 3; ++who) {
    for (const RunReport& run : r->runs[who]) {
      EXPECT_EQ(run.nodes, nodes[who]);
      EXPECT_TRUE(run.violations.empty()) << run.violations.front();
      EXPECT_NEAR(static_cast<double>(run.hours.installed_ms), 8 * 3.6e6 * nodes[who] * 8, 3.6e6 * nodes[who]);
      EXPECT_GT(run.waited.jobs, 0U);
    }
    EXPECT_EQ(r->runs[who][0].totals.jobs_submitted, r->runs[0][0].totals.jobs_submitted) << "the same work arrives";
  }
  EXPECT_GT(r->runs[1][0].hours[Waste::useful] + r->runs[1][0].hours[Waste::unsettled],
            r->runs[2][0].hours[Waste::useful] + r->runs[2][0].hours[Waste::unsettled]);
}

TEST(ChangedBooks, ARunCanBeStopped) {
  CompareOptions o;
  o.run.twin = stormy(1, 1'000);
  o.run.length = days(30);
  o.seeds = 2;
  o.contenders = {{"a", roomy_policy()}, {"b", roomy_policy()}};
  o.make_journal = [] { return std::make_unique<KeptJournal>(); };
  int asked = 0;
  o.stopped = [&] { return ++asked > 3; };
  const auto r = compare(o);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, Code::conflict);
  EXPECT_LT(asked, 20);
}

}  // namespace
}  // namespace muster::trial
