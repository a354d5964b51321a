// The cluster as a controller meets it: jobs, orders, reports, determinism.
#include "twin/twin.h"

#include <gtest/gtest.h>

#include "twin/first_fit.h"

namespace muster::twin {
namespace {

JobSpec job(std::uint32_t nodes, std::uint64_t steps = 100000, double every_s = 600, double gb = 16) {
  JobSpec j;
  j.name = "j";
  j.nodes = nodes;
  j.step_s = 10;
  j.steps = steps;
  j.checkpoint_every_s = every_s;
  j.checkpoint_gb = gb;
  return j;
}

Config quiet(std::uint32_t nodes, std::vector<JobSpec> jobs = {}) {
  Config c = plain_config(nodes);
  c.workload.mix.clear();
  for (JobSpec& j : jobs) c.workload.jobs.push_back({seconds(1), std::move(j)});
  return c;
}

Config stormy(std::uint32_t nodes, std::uint64_t seed) {
  Config c = plain_config(nodes, seed);
  for (const std::string_view k : names(FaultKind{})) {
    FaultRate r;
    (void)parse_name(k, r.kind);
    r.per_gpu_hour = 1.5e-6;
    c.weather.rates.push_back(r);
  }
  c.weather.factor = 1000;
  return c;
}

// Everything that comes out, in one number.
std::uint64_t history(Config c, Duration d) {
  const std::size_t n = c.site.nodes.size();
  Twin twin(std::move(c));
  FirstFit driver(twin, n);
  driver.keep_digest = true;
  std::uint64_t h = 0;
  const Time end = twin.now().steady + d;
  while (twin.now().steady < end) {
    driver.turn();
    for (const Sample& s : driver.inbox.samples) {
      h = h * 31 + s.node.v * 64 + static_cast<std::uint64_t>(s.field) + static_cast<std::uint64_t>(s.value * 1000) * 7 +
          static_cast<std::uint64_t>(s.at.ns);
    }
    for (const KernelRecord& r : driver.inbox.kernel) h = xxh64(r.text, h + r.seq);
    for (const StepReport& r : driver.inbox.steps) h = h * 31 + r.step + static_cast<std::uint64_t>(r.step_s * 1e9);
  }
  EXPECT_TRUE(driver.dense);
  EXPECT_EQ(twin.counters().refused_lines, 0U);
  EXPECT_GT(twin.faults().size(), 20U);
  return h ^ driver.digest;
}

TEST(Twin, TheSameSeedIsTheSameHistory) {
  const std::uint64_t a = history(stormy(16, 5), hours(30));
  EXPECT_EQ(a, history(stormy(16, 5), hours(30)));
  EXPECT_NE(a, history(stormy(16, 6), hours(30)));
}

TEST(Twin, EveryNodeReportsOnceAMinuteAndASilentOneIsMissed) {
  Twin twin(quiet(100));
  ASSERT_TRUE(twin.inject(FaultKind::node_hang, NodeId{42}, -1));
  Inbox in;
  for (int m = 0; m < 3; ++m) {
    in.clear();
    ASSERT_TRUE(twin.advance_to(twin.now().steady + minutes(1)) || m > 0);
    twin.poll(in);
    std::vector<int> heard(100, 0);
    for (const Sample& s : in.samples) {
      if (s.field != Field::up) continue;
      ++heard[s.node.v];
      EXPECT_EQ(s.value, s.node.v == 42 ? 0 : 1);
    }
    EXPECT_EQ(std::count(heard.begin(), heard.end(), 1), 100);
  }
}

TEST(Twin, TheFirstRoundIsAFullScrape) {
  Twin twin(quiet(4));
  twin.advance_to(twin.now().steady + minutes(1));
  Inbox in;
  twin.poll(in);
  int masks = 0;
  for (const Sample& s : in.samples) {
    if (s.field == Field::gpus_visible) {
      ++masks;
      EXPECT_EQ(s.value, 255);
    }
  }
  EXPECT_EQ(masks, 4);
  EXPECT_EQ(twin.counters().refused_lines, 0U);
  // Afterwards a cluster at rest has nothing to say but that it is there.
  in.clear();
  twin.advance_to(twin.now().steady + minutes(10));
  twin.poll(in);
  for (const Sample& s : in.samples) EXPECT_EQ(s.field, Field::up);
  EXPECT_EQ(in.samples.size(), 40U);
}

TEST(Twin, AJobRunsToItsEndAndItsTimeAddsUp) {
  Twin twin(quiet(4, {job(4, 1000, 1200, 160)}));
  FirstFit driver(twin, 4);
  driver.run(hours(4));
  ASSERT_EQ(driver.ends.size(), 1U);
  const JobEnded& e = driver.ends[0];
  EXPECT_EQ(e.end, JobEnd::completed);
  EXPECT_EQ(e.progress.steps, 1000U);
  EXPECT_EQ(e.progress.durable_steps, 1000U);
  EXPECT_EQ(e.progress.slow_ms, 0);
  EXPECT_GT(e.progress.init_ms, 60'000);
  // 160 GB over 8 GB/s in all (2 GB/s a node), 8 times: 10 000 s of work, a checkpoint every 1200.
  EXPECT_NEAR(static_cast<double>(e.progress.checkpoint_ms), 8 * 20'000, 10);
  EXPECT_GT(twin.allocated_share(), 0.5);
}

TEST(Twin, ConcurrentCheckpointsShareTheStore) {
  // Alone a gang of 2 writes 160 GB in 10 s (8 GB/s per node); eight of them at once have 32 GB/s for 16 nodes.
  std::vector<JobSpec> eight(8, job(2, 200, 1000, 160));
  Twin alone(quiet(16, {eight[0]}));
  FirstFit one(alone, 16);
  one.run(hours(2));
  ASSERT_EQ(one.ends.size(), 1U);
  const std::int64_t alone_ms = one.ends[0].progress.checkpoint_ms;
  EXPECT_NEAR(static_cast<double>(alone_ms), 10'000, 5);
  Twin together(quiet(16, eight));
  FirstFit all(together, 16);
  all.run(hours(2));
  ASSERT_EQ(all.ends.size(), 8U);
  std::int64_t sum = 0;
  for (const JobEnded& e : all.ends) {
    EXPECT_GE(e.progress.checkpoint_ms, alone_ms);
    sum += e.progress.checkpoint_ms;
  }
  EXPECT_GT(sum, 8 * alone_ms);
}

TEST(Twin, AFailureLosesExactlyTheWorkSinceTheCheckpoint) {
  Twin twin(quiet(4, {job(2, 2000, 600)}));
  FirstFit driver(twin, 4);
  driver.run(minutes(50));
  const auto& started = driver.running.begin()->second;
  const NodeId victim = started.nodes[1];
  ASSERT_TRUE(twin.inject(FaultKind::ecc_uncorrectable, victim, 3));
  driver.run(minutes(5));
  ASSERT_EQ(driver.ends.size(), 1U);
  const JobEnded first = driver.ends[0];
  EXPECT_EQ(first.end, JobEnd::node_failed);
  EXPECT_EQ(first.progress.durable_steps % 60, 0U);  // checkpoints every 60 steps
  EXPECT_GT(first.progress.durable_steps, 0U);
  EXPECT_GT(first.progress.steps, first.progress.durable_steps);
  EXPECT_LT(first.progress.steps, first.progress.durable_steps + 60);
  driver.finish(driver.on_node(Verb::drain_node, victim));
  driver.run(hours(8));
  const JobEnded& last = driver.ends.back();
  EXPECT_EQ(last.end, JobEnd::completed);
  EXPECT_EQ(last.progress.steps, 2000U);
  // The time of each attempt adds up: what is not start, checkpoint or slowness is steps, and of those only the work beyond the
  // checkpoint was done again.
  std::uint64_t durable = 0;
  for (std::size_t i = 0; i + 1 < driver.ends.size(); ++i) durable = std::max(durable, driver.ends[i].progress.durable_steps);
  const Progress& p = last.progress;
  const std::int64_t steps_ms = driver.wall_ms.back() - p.init_ms - p.checkpoint_ms - p.slow_ms;
  EXPECT_NEAR(static_cast<double>(steps_ms), static_cast<double>(2000 - durable) * 10'000, 5);
}

TEST(Twin, RequeueContinuesFromTheDurableStep) {
  Twin twin(quiet(1, {job(1, 400, 600)}));
  FirstFit driver(twin, 1);
  driver.run(minutes(40));
  Action a;
  a.verb = Verb::requeue_job;
  a.job = JobId{1, 0};
  a.attempt = 1;
  EXPECT_EQ(driver.finish(driver.order(a)).status, Status::done);
  ASSERT_EQ(driver.ends.size(), 1U);
  EXPECT_EQ(driver.ends[0].end, JobEnd::requeued);
  const std::uint64_t durable = driver.ends[0].progress.durable_steps;
  EXPECT_EQ(durable, 180U);
  const Time again = twin.now().steady;
  while (driver.ends.size() < 2) driver.turn();
  EXPECT_EQ(driver.ends[1].end, JobEnd::completed);
  EXPECT_EQ(driver.ends[1].attempt, 2U);
  const double took_s = (twin.now().steady - again).seconds();
  const Progress& p = driver.ends[1].progress;
  EXPECT_NEAR(took_s, 10.0 * (400 - 180) + static_cast<double>(p.init_ms + p.checkpoint_ms) / 1000, 70);
}

TEST(Twin, AGangThatMayGoesOnWithFewerNodesAndIsSlowerByThat) {
  JobSpec two_of_four = job(4, 720, 600);
  two_of_four.nodes_min = 2;
  Twin twin(quiet(4, {two_of_four}));
  FirstFit driver(twin, 4);
  driver.run(minutes(40));
  const auto again = [&](std::vector<NodeId> nodes, std::uint32_t attempt) {
    Action a;
    a.verb = Verb::restart_job;
    a.job = JobId{1, 0};
    a.attempt = attempt;
    a.nodes = std::move(nodes);
    return driver.finish(driver.order(a));
  };
  EXPECT_EQ(again({NodeId{0}}, 2).detail, "the job wants 4 nodes, not 1");
  ASSERT_EQ(again({NodeId{0}, NodeId{1}}, 2).status, Status::done);
  const Time since = twin.now().steady;
  const std::uint64_t from = driver.ends.at(0).progress.durable_steps;
  while (driver.ends.size() < 2) driver.turn();
  const Progress& p = driver.ends[1].progress;
  EXPECT_EQ(driver.ends[1].end, JobEnd::completed);
  EXPECT_LE(p.slow_ms, 1) << "its steps take twice as long, and none of that is lost on the nodes it has";
  const double steps_s = (twin.now().steady - since).seconds() - static_cast<double>(p.init_ms + p.checkpoint_ms) / 1000;
  EXPECT_NEAR(steps_s, 2 * 10.0 * static_cast<double>(720 - from), 70);
}

TEST(Twin, NoOrderActsTwice) {
  Twin twin(quiet(2));
  Order o;
  o.key = "k1";
  o.epoch = 3;
  o.action.verb = Verb::reboot_node;
  o.action.node = NodeId{0};
  ASSERT_TRUE(twin.submit(o));
  const auto again = twin.submit(o);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Code::conflict);
  EXPECT_EQ(twin.counters().duplicate_orders, 1U);
  EXPECT_EQ(twin.counters().orders, 1U);
  o.key = "k2";
  o.epoch = 2;  // a controller that has been replaced
  EXPECT_EQ(twin.submit(o).error().code, Code::refused);
  o.epoch = 3;
  o.not_after = twin.now().utc - seconds(1);
  EXPECT_EQ(twin.submit(o).error().code, Code::refused);
  FirstFit driver(twin, 2);
  driver.run(minutes(20));
  EXPECT_EQ(driver.changes.size(), 2U);  // booting, up: once
  EXPECT_EQ(driver.ended.size(), 1U);
}

TEST(Twin, AnInquiryIsAnswered) {
  Twin twin(quiet(1));
  FirstFit driver(twin, 1);
  ASSERT_TRUE(twin.inquire("nobody sent this"));
  driver.turn();
  EXPECT_EQ(driver.ended["nobody sent this"].status, Status::not_received);
  const std::string key = driver.on_node(Verb::drain_node, NodeId{0});
  ASSERT_TRUE(twin.inquire(key));
  EXPECT_FALSE(driver.ended.contains(key));  // it answers by ending
  driver.run(seconds(5));
  EXPECT_EQ(driver.ended[key].status, Status::done);
  driver.ended.clear();
  ASSERT_TRUE(twin.inquire(key));
  driver.turn();
  EXPECT_EQ(driver.ended[key].status, Status::done);
}

TEST(Twin, AStartNeedsNodesThatAreUpFreeAndInService) {
  Twin twin(quiet(4, {job(2), job(2)}));
  FirstFit driver(twin, 4);
  driver.finish(driver.on_node(Verb::drain_node, NodeId{3}));
  driver.run(minutes(1));
  ASSERT_EQ(driver.running.size(), 1U);
  const auto start = [&](std::vector<NodeId> nodes, JobId id = JobId{2, 0}) {
    Action a;
    a.verb = Verb::start_job;
    a.job = id;
    a.nodes = std::move(nodes);
    return driver.finish(driver.order(a));
  };
  EXPECT_EQ(start({NodeId{2}, NodeId{3}}).detail, "node node4 is drained");
  EXPECT_EQ(start({NodeId{2}, NodeId{0}}).detail, "node node1 is busy");
  EXPECT_EQ(start({NodeId{2}}).status, Status::refused);
  EXPECT_EQ(start({NodeId{2}, NodeId{2}}).status, Status::refused);
  EXPECT_EQ(start({NodeId{2}, NodeId{99}}).status, Status::refused);
  EXPECT_EQ(start({NodeId{2}, NodeId{3}}, JobId{77, 0}).detail, "no such job");
  driver.order([] {
    Action a;
    a.verb = Verb::reboot_node;
    a.node = NodeId{2};
    return a;
  }());
  driver.run(seconds(5));
  EXPECT_EQ(start({NodeId{2}, NodeId{3}}).detail, "node node3 is booting");
}

TEST(Twin, CancelAndGiveUp) {
  Twin twin(quiet(1, {job(1), job(1), job(1)}));
  FirstFit driver(twin, 1);
  driver.run(minutes(5));
  const auto act = [&](Verb v, std::uint32_t number) {
    Action a;
    a.verb = v;
    a.job = JobId{number, 0};
    return driver.finish(driver.order(a)).status;
  };
  EXPECT_EQ(act(Verb::cancel_job, 3), Status::done);  // queued
  EXPECT_EQ(act(Verb::cancel_job, 1), Status::done);  // running
  EXPECT_EQ(driver.ends.back().end, JobEnd::cancelled);
  EXPECT_EQ(act(Verb::cancel_job, 1), Status::refused);
  driver.requeues = false;
  driver.run(minutes(5));
  EXPECT_EQ(act(Verb::fail_job, 2), Status::done);
  EXPECT_EQ(driver.ends.back().end, JobEnd::app_failed);
  EXPECT_EQ(act(Verb::requeue_job, 2), Status::refused);
  Action a;
  a.verb = Verb::submit_job;
  a.spec = job(1, 10);
  EXPECT_EQ(driver.finish(driver.order(a)).detail, "4");
  driver.run(minutes(30));
  EXPECT_EQ(driver.ends.back().end, JobEnd::completed);
}

TEST(Twin, StepReportsTellTheStepTime) {
  Twin twin(quiet(2, {job(2)}));
  FirstFit driver(twin, 2);
  driver.run(minutes(10));
  int reports = 0;
  for (int i = 0; i < 30; ++i) {
    driver.turn();
    for (const StepReport& r : driver.inbox.steps) {
      ++reports;
      EXPECT_NEAR(r.step_s, 10, 0.1);
      EXPECT_EQ(r.job, (JobId{1, 0}));
    }
  }
  EXPECT_GT(reports, 20);
}

TEST(Twin, CalmLeadsToQuiet) {
  Config c = stormy(16, 9);
  c.weather.factor = 2000;
  Twin twin(std::move(c));
  FirstFit driver(twin, 16);
  driver.heals = true;
  driver.run(days(1));
  twin.calm();
  driver.run(days(8));
  const std::size_t faults = twin.faults().size();
  EXPECT_GT(faults, 30U);
  const std::uint64_t events = driver.events;
  driver.run(days(1));
  EXPECT_EQ(twin.faults().size(), faults);
  EXPECT_EQ(driver.events, events);
  EXPECT_TRUE(driver.running.empty());
}

TEST(Twin, FullScrapesCarryEverySeriesEveryMinute) {
  Config c = quiet(2);
  c.site.rack_row = {0};
  c.full_scrapes = true;
  Twin twin(std::move(c));
  twin.advance_to(twin.now().steady + minutes(5));
  Inbox in;
  twin.poll(in);
  std::set<Field> fields;
  for (const Sample& s : in.samples) fields.insert(s.field);
  // All up to the inlet's temperature, and the driver's version from a label. What follows them in the list is always well here.
  EXPECT_EQ(fields.size(), static_cast<std::size_t>(Field::inlet_temp_c) + 2);
  EXPECT_EQ(twin.counters().refused_lines, 0U);
}

TEST(Twin, NamesAreUntrusted) {
  Config c = quiet(2);
  c.site.nodes[0].name = "a\"} 1\nDCGM_FI_DEV_GPU_TEMP{gpu=\"1\\";
  c.full_scrapes = true;
  Twin twin(std::move(c));
  twin.advance_to(twin.now().steady + minutes(2));
  Inbox in;
  twin.poll(in);
  EXPECT_EQ(twin.counters().refused_lines, 0U);
}

TEST(Fork, GoesOnWhereTheStateStands) {
  Config c = quiet(4);
  State s;
  s.site = c.site;
  s.now = {Time{1'800'000'000'000'000'000}, Time{5'000'000'000'000}, Time{5'000'000'000'000}};
  s.nodes.resize(4);
  s.nodes[2].hold = Hold::muster;
  s.nodes[3].condition = NodeCondition::down;
  s.streams["engine"] = {"abc", 41};
  Job j;
  j.id = {7, 0};
  j.spec = job(2, 500);
  j.phase = JobPhase::running;
  j.attempt = 3;
  j.nodes = {NodeId{0}, NodeId{1}};
  j.progress = {300, 240, 90'000, 10'000, 0};
  s.jobs[j.id] = j;
  j.id = {9, 0};
  j.phase = JobPhase::queued;
  j.attempt = 0;
  j.nodes.clear();
  j.progress = {};
  s.jobs[j.id] = j;
  OrderRecord o;
  o.order.key = "drain-5";
  o.order.action.verb = Verb::drain_node;
  o.order.action.node = NodeId{1};
  s.orders["drain-5"] = o;

  Twin twin(c, s);
  EXPECT_EQ(twin.now().utc, s.now.utc);
  EXPECT_EQ(twin.now().steady, s.now.steady);
  Inbox in;
  twin.advance_to(twin.now().steady + minutes(5));
  twin.poll(in);
  ASSERT_FALSE(in.events.empty());
  EXPECT_EQ(in.events[0].source.boot, "abc");
  EXPECT_EQ(in.events[0].source.seq, 42U);
  twin.advance_to(twin.now().steady + hours(2));
  twin.poll(in);
  bool completed = false;
  bool drained = false;
  for (const Arrival& a : in.events) {
    if (const auto* e = std::get_if<JobEnded>(&a.body)) {
      completed = e->job == JobId{7, 0} && e->end == JobEnd::completed && e->attempt == 3 && e->progress.steps == 500;
    }
    if (const auto* e = std::get_if<OrderEnded>(&a.body)) drained = e->key == "drain-5" && e->status == Status::done;
  }
  EXPECT_TRUE(completed);
  EXPECT_TRUE(drained);
  Order start;
  start.key = "s";
  start.action.verb = Verb::start_job;
  start.action.job = {9, 0};
  start.action.nodes = {NodeId{0}, NodeId{3}};
  ASSERT_TRUE(twin.submit(start));
  in.clear();
  twin.poll(in);
  ASSERT_EQ(in.events.size(), 1U);
  EXPECT_EQ(std::get<OrderEnded>(in.events[0].body).detail, "node node4 is down");
}

// How long a replacement of node 3 takes after `others` other orders.
Duration replacement(bool by_place, int others) {
  Config c = quiet(8);
  c.luck_by_place = by_place;
  Twin twin(std::move(c));
  FirstFit driver(twin, 8);
  driver.turn();
  for (int i = 0; i < others; ++i) driver.finish(driver.on_node(Verb::probe_node, NodeId{5}));
  const Time began = twin.now().steady;
  const OrderEnded end = driver.finish(driver.on_node(Verb::replace_node, NodeId{3}));
  EXPECT_EQ(end.status, Status::done);
  return twin.now().steady - began;
}

TEST(Orders, LuckByPlaceIsTheSameWhateverElseIsOrdered) {
  EXPECT_EQ(replacement(true, 0), replacement(true, 3));
  EXPECT_NE(replacement(false, 0), replacement(false, 3)) << "by key, each order has another";
}

}  // namespace
}  // namespace muster::twin
