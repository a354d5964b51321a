#include "trial/compare.h"

#include <gtest/gtest.h>

#include "base/prng.h"
#include "control/restore.h"
#include "trial/controlled.h"

namespace muster::trial {
namespace {

CompareOptions options(std::vector<Contender> contenders) {
  CompareOptions o;
  o.run.twin = stormy(1, 3'000);
  o.run.length = hours(30);
  o.contenders = std::move(contenders);
  o.seeds = 8;
  o.make_journal = [] { return std::make_unique<KeptJournal>(); };
  return o;
}

const Row& row(const CompareReport& r, std::string_view name) {
  for (const Row& x : r.rows) {
    if (x.metric.name == name) return x;
  }
  ADD_FAILURE() << "no metric " << name;
  return r.rows.front();
}

// Looks at every fault a quarter of a day late and never touches what fell off the bus.
Policy sleepy() {
  Policy p = roomy_policy();
  p.name = "sleepy";
  p.silent_after = hours(6);
  p.requeue_after = hours(6);
  for (Runbook& l : p.runbooks) l.act = l.act && l.kind != FindingKind::gpu_lost && l.kind != FindingKind::node_silent;
  return p;
}

// A report as a run would have made it, with one goodput.
RunReport plain(double goodput) {
  RunReport r;
  r.gpus = 192;
  r.nodes = 24;
  r.days = 1;
  r.goodput = goodput;
  r.hours.installed_ms = std::int64_t{192} * 24 * 3'600'000;
  r.hours[Waste::useful] = static_cast<std::int64_t>(goodput * static_cast<double>(r.hours.installed_ms));
  r.hours[Waste::down] = r.hours.installed_ms - r.hours[Waste::useful];
  return r;
}

TEST(Compare, APolicyAgainstItselfAndUnderAnotherNameIsExactlyTheSame) {
  Policy renamed = roomy_policy();
  renamed.name = "another-name";
  CompareOptions o = options({{"a", roomy_policy()}, {"a again", roomy_policy()}, {"b", renamed}});
  o.seeds = 3;
  const auto r = compare(o);
  ASSERT_TRUE(r) << r.error().what;
  EXPECT_EQ(r->tests, 0U);
  for (const Row& x : r->rows) {
    for (const Contrast& c : x.contrasts) {
      EXPECT_EQ(c.difference.mean, 0) << x.metric.name;
      EXPECT_EQ(c.difference.low, 0) << x.metric.name;
      EXPECT_EQ(c.difference.high, 0) << x.metric.name;
      EXPECT_EQ(c.p, 1) << x.metric.name;
      EXPECT_EQ(c.outcome, Outcome::same) << x.metric.name;
    }
  }
  EXPECT_GT(r->runs[0][0].marks.injected, 10U) << "a history without faults compares nothing";
  EXPECT_EQ(r->runs[0][0].digest, r->runs[1][0].digest);
  EXPECT_NE(r->runs[0][0].digest, r->runs[0][1].digest);
}

TEST(Compare, APlainlyWorsePolicyIsFoundOut) {
  CompareOptions o = options({{"sound", roomy_policy()}, {"sleepy", sleepy()}});
  o.seeds = 16;  // what is left open varies more between seeds than the rest
  const auto r = compare(o);
  ASSERT_TRUE(r) << r.error().what;
  for (const char* name : {"goodput_pct", "left_open", "gpu_hours_lost"}) {
    const Contrast& c = row(*r, name).contrasts[0];
    EXPECT_EQ(c.outcome, Outcome::worse) << name << ": " << c.verdict;
    EXPECT_LE(c.p, kAlpha) << name;
    EXPECT_EQ(c.verdict.find("sleepy is worse by "), 0U) << c.verdict;
  }
  // Held the other way round the same differences have the other sign.
  const CompareReport turned = judge({"sleepy", "sound"}, {r->runs[1], r->runs[0]}, 0);
  EXPECT_EQ(row(turned, "goodput_pct").contrasts[0].outcome, Outcome::better);
  EXPECT_EQ(row(turned, "goodput_pct").contrasts[0].difference.mean, -row(*r, "goodput_pct").contrasts[0].difference.mean);
}

TEST(Compare, ThreadsChangeNothing) {
  CompareOptions o = options({{"sound", roomy_policy()}, {"sleepy", sleepy()}});
  o.seeds = 3;
  o.run.length = hours(6);
  const auto one = compare(o);
  o.threads = 3;
  double last = 0;
  bool rises = true;
  o.progress = [&](double done) {
    rises = rises && done >= last - 1e-9;
    last = done;
  };
  const auto three = compare(o);
  ASSERT_TRUE(one);
  ASSERT_TRUE(three);
  for (std::size_t who = 0; who < 2; ++who) {
    for (std::size_t seed = 0; seed < 3; ++seed) {
      EXPECT_EQ(one->runs[who][seed].digest, three->runs[who][seed].digest);
      EXPECT_EQ(three->runs[who][seed].seed, 1 + seed);
    }
  }
  EXPECT_TRUE(rises);
  EXPECT_NEAR(last, 1, 1e-9);
}

TEST(Compare, AForkBeginsWhereTheHistoryEnded) {
  Controlled c(stormy(3, 3'000), roomy_policy());
  c.run(hours(8));
  CompareOptions o = options({{"a", roomy_policy()}, {"same", roomy_policy()}, {"sleepy", sleepy()}});
  const auto books = control::restore(c.journal, PlainJson::parse);
  ASSERT_TRUE(books);
  o.from = *books;
  o.seeds = 3;
  o.run.length = hours(12);
  const auto r = compare(o);
  ASSERT_TRUE(r) << r.error().what;
  EXPECT_NEAR(static_cast<double>(r->runs[0][0].hours.installed_ms), 12 * 3.6e6 * 192, 3.6e6 * 192 * 0.05);
  EXPECT_LT(r->runs[0][0].totals.orders, books->state.totals.orders * 4);
  EXPECT_EQ(row(*r, "goodput_pct").contrasts[0].outcome, Outcome::same);
  EXPECT_NE(row(*r, "goodput_pct").contrasts[1].difference.mean, 0);
  EXPECT_GT(row(*r, "recall_pct").values[0].mean, 90) << "what was known before the fork is not missed in it";
  EXPECT_EQ(row(*r, "violations").contrasts[0].outcome, Outcome::unmeasured) << "a fork's checker does not know the past";
}

TEST(Compare, TheLargestDrainIsCountedAtOneMoment) {
  Policy tight = roomy_policy();
  tight.limits.out_cluster_pct = 0;
  tight.limits.out_cluster_floor = 1;
  CompareOptions o = options({{"roomy", roomy_policy()}, {"tight", tight}});
  o.seeds = 2;
  const auto r = compare(o);
  ASSERT_TRUE(r) << r.error().what;
  const Row& drain = row(*r, "largest_drain_nodes");
  EXPECT_GT(drain.values[0].mean, 1);
  EXPECT_EQ(drain.values[1].mean, 1);
}

TEST(Compare, VerdictsAreSentencesWithTheDifferenceItsIntervalAndItsChance) {
  std::vector<RunReport> a, b;
  Prng prng(1, "noise");
  for (int i = 0; i < 10; ++i) {
    const double luck = 0.05 * prng.unit();  // the same for both: pairing takes it out
    a.push_back(plain(0.90 + luck));
    b.push_back(plain(0.908 + luck + 0.002 * prng.normal()));
  }
  const CompareReport r = judge({"a", "b"}, {a, b}, 2.5);
  const Contrast& c = row(r, "goodput_pct").contrasts[0];
  EXPECT_EQ(c.outcome, Outcome::better);
  EXPECT_EQ(c.verdict.find("b is better by 0."), 0U) << c.verdict;
  EXPECT_NE(c.verdict.find(" points (0."), std::string::npos) << c.verdict;
  EXPECT_NE(c.verdict.find("), p=0.00"), std::string::npos) << c.verdict;
  EXPECT_LT(c.difference.high - c.difference.low, 0.5);
  EXPECT_GT(row(r, "goodput_pct").values[0].high - row(r, "goodput_pct").values[0].low, 1);
  EXPECT_EQ(r.tests, 4U);  // goodput, lost, down, money; all else is the same everywhere
  EXPECT_EQ(row(r, "money_lost").contrasts[0].p, row(r, "gpu_hours_lost").contrasts[0].p);
  EXPECT_NEAR(row(r, "money_lost").values[0].mean, 2.5 * row(r, "gpu_hours_lost").values[0].mean, 1e-9);
  EXPECT_EQ(row(r, "gpu_hours_down").contrasts[0].outcome, Outcome::differs);
  EXPECT_EQ(row(r, "jobs_lost").contrasts[0].verdict, "the same in every seed");
}

TEST(Compare, ALargerClusterIsJudgedByTheShareThatItLoses) {
  // Twice as large, and twice as many hours lost: no worse.
  std::vector<std::vector<RunReport>> runs(2, std::vector<RunReport>(8));
  for (std::size_t seed = 0; seed < 8; ++seed) {
    for (std::size_t who = 0; who < 2; ++who) {
      RunReport& r = runs[who][seed];
      const auto size = static_cast<std::int64_t>(who + 1);
      r.gpus = static_cast<std::uint32_t>(64 * size);
      r.hours.installed_ms = size * 3'600'000'000;
      r.hours[Waste::down] = size * (36'000'000 + 100'000 * static_cast<std::int64_t>(seed));
      r.hours[Waste::useful] = r.hours.installed_ms - r.hours[Waste::down];
    }
  }
  const CompareReport r = judge({"as it is", "the change"}, std::move(runs), 0, Judged::work);
  EXPECT_EQ(row(r, "gpu_hours_lost").contrasts[0].outcome, Outcome::differs);
  EXPECT_EQ(row(r, "lost_pct").contrasts[0].outcome, Outcome::same);
  EXPECT_NEAR(row(r, "lost_pct").values[1].mean, 1.01, 0.02);
}

TEST(Compare, WhatTenSeedsCannotShowIsSaidWithTheSeedsItWouldTake) {
  std::vector<RunReport> a, b;
  Prng prng(2, "noise");
  for (int i = 0; i < 10; ++i) {
    a.push_back(plain(0.90 + 0.01 * prng.normal()));
    b.push_back(plain(0.90 + 0.01 * prng.normal()));
  }
  const CompareReport r = judge({"a", "b"}, {a, b}, 0);
  const Contrast& c = row(r, "goodput_pct").contrasts[0];
  EXPECT_EQ(c.outcome, Outcome::not_shown);
  EXPECT_EQ(c.verdict.find("no difference that 10 seeds could show ("), 0U) << c.verdict;
  EXPECT_GT(c.seeds_needed, 500U);
  EXPECT_NE(c.verdict.find(" seeds would be needed to see 0.1 points"), std::string::npos) << c.verdict;
  for (const Row& x : r.rows) EXPECT_NE(x.metric.name, "money_lost") << "without a price there is no money";
}

TEST(Compare, ARunThatCannotSayIsLeftOutOfThePairs) {
  std::vector<RunReport> a, b;
  for (int i = 0; i < 8; ++i) {
    a.push_back(plain(0.9));
    b.push_back(plain(i < 6 ? 0.8 + 0.001 * i : -1));
  }
  b[6].hours = b[7].hours = a[0].hours;
  const CompareReport r = judge({"a", "b"}, {a, b}, 0);
  EXPECT_EQ(row(r, "goodput_pct").contrasts[0].difference.n, 6U);
  EXPECT_EQ(row(r, "goodput_pct").values[0].n, 8U);
  EXPECT_EQ(row(r, "mttr_p50_min").contrasts[0].outcome, Outcome::unmeasured);
  const CompareReport alone = judge({"a", "b"}, {{a[0]}, {b[0]}}, 0);
  EXPECT_EQ(row(alone, "goodput_pct").contrasts[0].outcome, Outcome::unmeasured) << "one seed says nothing about chance";
}

// All metrics together: a claim where there is nothing comes in at most 5 of 100 reports.
TEST(Compare, ClaimsNothingWhereThereIsNothing) {
  Prng prng(4, "nothing");
  int claims = 0;
  for (int k = 0; k < 200; ++k) {
    std::vector<std::vector<RunReport>> runs(2);
    for (int i = 0; i < 9; ++i) {
      for (auto& of : runs) {
        RunReport x = plain(0.9 + 0.02 * prng.unit());
        x.jobs_lost = prng.below(4);
        x.marks.unfinished = prng.below(6);
        x.marks.most_out = prng.below(5);
        x.marks.false_alarms = prng.below(3);
        of.push_back(x);
      }
    }
    const CompareReport r = judge({"a", "b"}, std::move(runs), 0);
    const bool claimed = std::any_of(r.rows.begin(), r.rows.end(), [](const Row& x) {
      return x.contrasts[0].outcome != Outcome::not_shown && x.contrasts[0].outcome != Outcome::same &&
             x.contrasts[0].outcome != Outcome::unmeasured;
    });
    claims += claimed ? 1 : 0;
  }
  EXPECT_LE(claims, 200 * 75 / 1000);
}

}  // namespace
}  // namespace muster::trial
