// Checkpoints that are written beside the steps: what they cost, when they count, and what is lost with the gang.
#include <gtest/gtest.h>

#include "twin/first_fit.h"

namespace muster::twin {
namespace {

// One gang of two nodes, steps of 10 s, a checkpoint every 60 of them, written at 16 GB/s in all.
Config one_gang(double stall_s, double gb, std::uint64_t steps = 100'000) {
  Config c = plain_config(2);
  c.site.storage_write_gbs = 16;
  c.workload.mix.clear();
  JobSpec j;
  j.name = "j";
  j.nodes = 2;
  j.step_s = 10;
  j.steps = steps;
  j.init_s = 100;
  j.checkpoint_every_s = 600;
  j.checkpoint_gb = gb;
  j.checkpoint_stall_s = stall_s;
  c.workload.jobs.push_back({seconds(1), std::move(j)});
  return c;
}

// Times of the durable checkpoints, seconds after the gang's start, and what was told with each.
std::vector<std::pair<double, Progress>> durable(Config c, Duration d) {
  Twin twin(std::move(c));
  FirstFit driver(twin, 2);
  std::vector<std::pair<double, Progress>> out;
  Time started;
  const Time end = twin.now().steady + d;
  while (twin.now().steady < end) {
    driver.turn(seconds(1));
    for (const Arrival& a : driver.inbox.events) {
      if (std::holds_alternative<JobStarted>(a.body)) started = a.utc;
      if (const auto* p = std::get_if<JobProgressed>(&a.body)) out.emplace_back((a.utc - started).seconds(), p->progress);
    }
  }
  return out;
}

TEST(CheckpointBeside, StepsStopForTheStallAndGoOnWhileItIsWritten) {
  const auto told = durable(one_gang(2, 800), hours(1));  // 50 s to write
  ASSERT_GE(told.size(), 3U);
  for (std::size_t k = 0; k < told.size(); ++k) {
    const double n = static_cast<double>(k) + 1;
    EXPECT_NEAR(told[k].first, 100 + n * 602 + 50, 0.01) << "durable when it is written";
    EXPECT_EQ(told[k].second.durable_steps, 60 * (k + 1));
    EXPECT_EQ(told[k].second.steps, 60 * (k + 1) + 5) << "five more steps were done meanwhile";
    EXPECT_EQ(told[k].second.checkpoint_ms, 2000 * static_cast<std::int64_t>(k + 1));
  }
}

TEST(CheckpointBeside, WithoutAStallGivenStepsStopForTheWholeWrite) {
  const auto told = durable(one_gang(-1, 800), hours(1));
  ASSERT_GE(told.size(), 2U);
  EXPECT_NEAR(told[1].first, 100 + 2 * 650, 0.01);
  EXPECT_EQ(told[1].second.steps, told[1].second.durable_steps);
  EXPECT_EQ(told[1].second.checkpoint_ms, 100'000);
}

TEST(CheckpointBeside, OneAtATimeIsWritten) {
  const auto told = durable(one_gang(2, 16'000), hours(2));  // 1000 s to write: every second one is left out
  ASSERT_GE(told.size(), 3U);
  for (std::size_t k = 0; k < told.size(); ++k) {
    EXPECT_EQ(told[k].second.durable_steps, 60 + 120 * k);
    EXPECT_EQ(told[k].second.checkpoint_ms, 2000 * static_cast<std::int64_t>(k + 1)) << "nor do steps stop for that one";
  }
}

TEST(CheckpointBeside, WhatIsNotWrittenYetIsLostWithTheGang) {
  Twin twin(one_gang(2, 3200));  // 200 s to write
  FirstFit driver(twin, 2);
  driver.run(seconds(100 + 602 + 100));  // the first is on its way
  ASSERT_TRUE(twin.inject(FaultKind::ecc_uncorrectable, NodeId{1}, 3));
  driver.run(minutes(1));
  ASSERT_EQ(driver.ends.size(), 1U);
  EXPECT_EQ(driver.ends[0].progress.durable_steps, 0U);
  EXPECT_GT(driver.ends[0].progress.steps, 60U);
  driver.run(minutes(30));
  EXPECT_EQ(twin.counters().duplicate_orders, 0U);
}

TEST(CheckpointBeside, AGangThatEndsWhileItWritesIsComplete) {
  Twin twin(one_gang(2, 3200, 65));
  FirstFit driver(twin, 2);
  driver.run(hours(1));
  ASSERT_EQ(driver.ends.size(), 1U);
  EXPECT_EQ(driver.ends[0].end, JobEnd::completed);
  EXPECT_EQ(driver.ends[0].progress.durable_steps, 65U);
}

// A gang that writes when it is told to, told `every` and `next` (from now) after an hour; when its checkpoints were durable
// then.
std::vector<double> paced(bool opted, Duration every, Duration next, Status* status = nullptr) {
  Config c = one_gang(-1, 160);  // 10 s to write
  c.workload.jobs[0].spec.paced = opted;
  Twin twin(std::move(c));
  FirstFit driver(twin, 2);
  std::vector<double> out;
  const Time told = twin.now().steady + hours(1);
  Time told_utc;
  bool sent = false;
  while (twin.now().steady < told + hours(3)) {
    if (!sent && twin.now().steady >= told) {
      sent = true;
      told_utc = twin.now().utc;
      Order o;
      o.key = "pace";
      o.epoch = 1;
      o.action.verb = Verb::pace_job;
      o.action.job = JobId{1, 0};
      o.action.attempt = 1;
      o.action.every = every;
      o.action.next = told_utc + next;
      const auto sent_well = twin.submit(o);
      EXPECT_TRUE(sent_well) << sent_well.error().what;
    }
    driver.turn(seconds(1));
    for (const Arrival& a : driver.inbox.events) {
      if (const auto* e = std::get_if<OrderEnded>(&a.body); e != nullptr && e->key == "pace" && status != nullptr)
        *status = e->status;
      if (sent && std::holds_alternative<JobProgressed>(a.body)) out.push_back((a.utc - told_utc).seconds());
    }
  }
  return out;
}

TEST(CheckpointPaced, ItWritesAtTheMomentGivenAndThenOnThatGrid) {
  Status status = Status::pending;
  const auto at = paced(true, minutes(20), minutes(7), &status);
  EXPECT_EQ(status, Status::done);
  ASSERT_GE(at.size(), 8U);
  for (std::size_t k = 0; k < 8; ++k) {
    const double begun = 420 + 1200 * static_cast<double>(k);
    EXPECT_GT(at[k], begun + 10 - 10.1) << "at the end of the step that was under way, or the one before";
    EXPECT_LT(at[k], begun + 10 + 10.1) << k << ": steps of 10 s, a write of 10 s, and no drift";
  }
}

TEST(CheckpointPaced, WhoDidNotOptInKeepsItsOwnTime) {
  Status status = Status::pending;
  const auto at = paced(false, minutes(20), minutes(7), &status);
  EXPECT_EQ(status, Status::refused);
  ASSERT_GE(at.size(), 10U);
  EXPECT_NEAR(at[1] - at[0], 610, 1);
}

}  // namespace
}  // namespace muster::twin
