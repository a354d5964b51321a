// Several gangs on a node: who has which GPU, what each fault and order does to whom, restarts in place, arrays, limits.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "ingest/json.h"
#include "twin/first_fit.h"
#include "twin/prices.h"
#include "twin/serve.h"

namespace muster::twin {
namespace {

JobSpec part(std::uint32_t gpus, std::uint32_t pieces = 1, std::uint64_t steps = 100000) {
  JobSpec j;
  j.name = "p";
  j.nodes = pieces;
  j.gpus_per_node = gpus;
  j.step_s = 10;
  j.steps = steps;
  j.checkpoint_every_s = 600;
  j.checkpoint_gb = 1;
  return j;
}
JobSpec share(std::uint32_t milli) {
  JobSpec j = part(1);
  j.gpu_milli = milli;
  return j;
}
Config quiet(std::uint32_t nodes) {
  Config c = plain_config(nodes);
  c.workload.mix.clear();
  return c;
}

// A twin and the orders given to it by hand. Jobs are numbered from 1 as they are given.
class Shares : public ::testing::Test {
 protected:
  void begin(std::uint32_t nodes, const std::vector<JobSpec>& jobs) {
    twin_ = std::make_unique<Twin>(quiet(nodes));
    for (const JobSpec& j : jobs) {
      Action a;
      a.verb = Verb::submit_job;
      a.spec = j;
      give(a);
    }
  }
  std::string send(const Action& a) {
    Order o;
    o.key = "k" + std::to_string(++keys_);
    o.action = a;
    EXPECT_TRUE(twin_->submit(o));
    return o.key;
  }
  void run(Duration d) {
    twin_->advance_to(twin_->now().steady + d);
    Inbox in;
    twin_->poll(in);
    samples_.insert(samples_.end(), in.samples.begin(), in.samples.end());
    steps_.insert(steps_.end(), in.steps.begin(), in.steps.end());
    for (const Arrival& a : in.events) {
      events_.push_back(a.body);
      at_.push_back(a.utc);
      if (const auto* o = std::get_if<OrderEnded>(&a.body)) ended_[o->key] = *o;
    }
  }
  OrderEnded give(const Action& a) {
    const std::string key = send(a);
    for (int i = 0; i < 2000 && ended_.count(key) == 0; ++i) run(seconds(1));
    return ended_[key];
  }
  OrderEnded start(std::uint32_t job, std::vector<NodeId> nodes, std::vector<std::uint16_t> slots, std::uint32_t attempt = 0,
                   Verb verb = Verb::start_job) {
    Action a;
    a.verb = verb;
    a.job = {job, 0};
    a.nodes = std::move(nodes);
    a.slots = std::move(slots);
    a.attempt = attempt;
    return give(a);
  }
  OrderEnded on(Verb v, NodeId n, int slot = -1) {
    Action a;
    a.verb = v;
    a.node = n;
    a.slot = static_cast<std::int16_t>(slot);
    return give(a);
  }
  template <class T>
  std::vector<T> all() const {
    std::vector<T> out;
    for (const Body& b : events_) {
      if (const auto* t = std::get_if<T>(&b)) out.push_back(*t);
    }
    return out;
  }
  std::set<std::uint32_t> over() const {
    std::set<std::uint32_t> out;
    for (const JobEnded& e : all<JobEnded>()) out.insert(e.job.number);
    return out;
  }
  double last(Field f, int slot, NodeId n = NodeId{0}) const {
    double v = -1;
    for (const Sample& s : samples_) {
      if (s.field == f && s.node == n && s.slot == slot) v = s.value;
    }
    return v;
  }

  std::unique_ptr<Twin> twin_;
  int keys_ = 0;
  std::vector<Body> events_;
  std::vector<Time> at_;
  std::map<std::string, OrderEnded> ended_;
  std::vector<Sample> samples_;
  std::vector<StepReport> steps_;
};

TEST_F(Shares, EachGpuReadsWhatItsOwnGangDoes) {
  begin(1, {part(2), share(250), share(500)});
  EXPECT_EQ(start(1, {NodeId{0}}, {0b11}).status, Status::done);
  EXPECT_EQ(start(2, {NodeId{0}}, {0b100}).status, Status::done);
  EXPECT_EQ(start(3, {NodeId{0}}, {0b100}).status, Status::done);
  run(minutes(15));
  EXPECT_EQ(all<JobStarted>()[0].slots, std::vector<std::uint16_t>{0b11});
  EXPECT_EQ(last(Field::gpu_util_pct, 0), 99);
  EXPECT_EQ(last(Field::gpu_util_pct, 1), 99);
  EXPECT_EQ(last(Field::gpu_util_pct, 2), 99) << "0.75 of a busy GPU";
  EXPECT_EQ(last(Field::gpu_util_pct, 3), 0);
  EXPECT_GT(last(Field::gpu_temp_c, 0), last(Field::gpu_temp_c, 3) + 20);
  EXPECT_GT(last(Field::gpu_temp_c, 2), last(Field::gpu_temp_c, 3) + 12);
  EXPECT_GT(last(Field::power_w, 1), last(Field::power_w, 2) + 50);
  EXPECT_GT(last(Field::tensor_active, 2), 0.3);
  EXPECT_EQ(last(Field::tensor_active, 3), 0);
  EXPECT_NEAR(twin_->allocated_share(), 2.75 / 8, 0.02);
}

TEST_F(Shares, AStartNeedsGpusThatAreFreeAndTheRightNumber) {
  begin(2, {part(4), part(2, 4), share(600), share(500), part(8), part(4, 3)});
  EXPECT_EQ(start(1, {NodeId{0}}, {0b1111}).status, Status::done);
  EXPECT_EQ(start(2, {NodeId{0}}, {0b11111000}).detail, "the job wants 2 GPUs of a node, not 5");
  EXPECT_EQ(start(2, {NodeId{0}}, {0b11111100}).detail, "the job wants 4 pieces, not 3");
  EXPECT_EQ(start(2, {NodeId{0}, NodeId{1}}, {0b111100, 0b11}).detail, "the job wants 4 pieces, not 3");
  EXPECT_EQ(start(2, {NodeId{0}, NodeId{1}}, {0b00111100, 0b1111}).detail, "node node1 is busy");
  EXPECT_EQ(start(2, {NodeId{0}, NodeId{1}}, {0b11110000}).status, Status::refused) << "GPUs of one node only";
  EXPECT_EQ(start(2, {NodeId{0}}, {0x1f0}).detail, "no such GPU");
  EXPECT_EQ(start(2, {NodeId{0}, NodeId{1}}, {0b11110000, 0b1111}).status, Status::done) << "two pieces a node";
  EXPECT_EQ(start(3, {NodeId{1}}, {0b10000}).status, Status::done);
  EXPECT_EQ(start(4, {NodeId{1}}, {0b10000}).detail, "node node2 is busy") << "1.1 GPUs";
  EXPECT_EQ(start(4, {NodeId{1}}, {0b110000}).status, Status::refused) << "a share is of one GPU";
  EXPECT_EQ(start(4, {NodeId{1}}, {0b100000}).status, Status::done);
  EXPECT_EQ(start(5, {NodeId{1}}, {}).detail, "node node2 is busy");
  EXPECT_EQ(start(6, {NodeId{0}, NodeId{1}}, {}).detail, "the job wants 3 pieces, not 4");
}

TEST_F(Shares, WholeNodesAreToldWithoutSlots) {
  begin(1, {part(8)});
  EXPECT_EQ(start(1, {NodeId{0}}, {0xff}).status, Status::done);
  EXPECT_TRUE(all<JobStarted>()[0].slots.empty());
}

TEST_F(Shares, AFaultMeetsTheGangsOfItsGpu) {
  begin(1, {part(4), part(2), share(500), share(500)});
  start(1, {NodeId{0}}, {0b1111});
  start(2, {NodeId{0}}, {0b110000});
  start(3, {NodeId{0}}, {0b1000000});
  start(4, {NodeId{0}}, {0b1000000});
  run(minutes(20));
  ASSERT_TRUE(twin_->inject(FaultKind::ecc_uncorrectable, NodeId{0}, 6));
  EXPECT_EQ(twin_->faults()[0].job, (JobId{3, 0}));
  run(minutes(2));
  EXPECT_EQ(over(), (std::set<std::uint32_t>{3, 4}));
  ASSERT_TRUE(twin_->inject(FaultKind::slow_gpu, NodeId{0}, 5));
  steps_.clear();
  run(minutes(10));
  double slowest[3] = {0, 0, 0};
  for (const StepReport& r : steps_) slowest[r.job.number] = std::max(slowest[r.job.number], r.step_s);
  EXPECT_NEAR(slowest[1], 10, 0.1);
  EXPECT_GT(slowest[2], 11);
  ASSERT_TRUE(twin_->inject(FaultKind::thermal, NodeId{0}, 7));
  EXPECT_FALSE(twin_->faults().back().shown) << "a GPU without work shows no heat";
  run(minutes(20));
  EXPECT_LT(last(Field::gpu_temp_c, 7), 60);
  ASSERT_TRUE(twin_->inject(FaultKind::node_hang, NodeId{0}, -1));
  run(minutes(6));
  EXPECT_EQ(over(), (std::set<std::uint32_t>{1, 2, 3, 4}));
}

TEST_F(Shares, OrdersOnANodeReachWhomTheyMust) {
  begin(1, {part(4), part(2), part(1)});
  start(1, {NodeId{0}}, {0b1111});
  start(2, {NodeId{0}}, {0b110000});
  start(3, {NodeId{0}}, {0b1000000});
  EXPECT_EQ(on(Verb::test_node, NodeId{0}).detail, "node node1 is not empty");
  EXPECT_EQ(on(Verb::reset_gpu, NodeId{0}, 7).status, Status::done);
  EXPECT_TRUE(over().empty());
  EXPECT_EQ(on(Verb::reset_gpu, NodeId{0}, 4).status, Status::done);
  EXPECT_EQ(over(), (std::set<std::uint32_t>{2}));
  EXPECT_EQ(on(Verb::reboot_node, NodeId{0}).status, Status::done);
  EXPECT_EQ(over(), (std::set<std::uint32_t>{1, 2, 3}));
  EXPECT_EQ(on(Verb::test_node, NodeId{0}).status, Status::done);
  run(minutes(10));
  EXPECT_EQ(last(Field::gpu_util_pct, 0), 0);
}

TEST_F(Shares, ARestartKeepsItsNodesAndNeverQueues) {
  begin(4, {part(8, 2), part(4), part(8)});
  start(1, {NodeId{0}, NodeId{1}}, {}, 1);
  start(2, {NodeId{3}}, {0b1111}, 1);
  run(minutes(30));
  EXPECT_EQ(start(1, {NodeId{0}, NodeId{3}}, {}, 2, Verb::restart_job).detail, "node node4 is busy");
  EXPECT_EQ(start(1, {NodeId{0}, NodeId{2}}, {}, 1, Verb::restart_job).detail, "attempt 1 has been made");
  EXPECT_EQ(start(3, {NodeId{2}}, {}, 1, Verb::restart_job).detail, "the job is queued");
  EXPECT_EQ(start(9, {NodeId{2}}, {}, 1, Verb::restart_job).detail, "no such job");
  EXPECT_TRUE(all<JobEnded>().empty()) << "a refusal does nothing";
  on(Verb::drain_node, NodeId{0});
  EXPECT_EQ(start(1, {NodeId{0}, NodeId{2}}, {}, 2, Verb::restart_job).status, Status::done) << "it has the drained one";
  ASSERT_EQ(all<JobEnded>().size(), 1U);
  EXPECT_EQ(all<JobEnded>()[0].end, JobEnd::requeued);
  EXPECT_TRUE(all<JobRequeued>().empty());
  EXPECT_EQ(all<JobStarted>().back().nodes, (std::vector<NodeId>{NodeId{0}, NodeId{2}}));
  EXPECT_EQ(all<JobStarted>().back().attempt, 2U);
  const std::uint64_t durable = all<JobEnded>()[0].progress.durable_steps;
  EXPECT_GT(durable, 60U);
  run(minutes(20));
  EXPECT_GT(all<JobProgressed>().back().progress.durable_steps, durable);
}

TEST_F(Shares, AGangThatBrokeIsRestartedToo) {
  begin(3, {part(8, 2)});
  start(1, {NodeId{0}, NodeId{1}}, {}, 1);
  run(minutes(30));
  ASSERT_TRUE(twin_->inject(FaultKind::ecc_uncorrectable, NodeId{1}, 3));
  run(minutes(1));
  ASSERT_EQ(all<JobEnded>().size(), 1U);
  EXPECT_EQ(all<JobEnded>()[0].end, JobEnd::node_failed);
  EXPECT_EQ(start(1, {NodeId{0}, NodeId{2}}, {}, 2, Verb::restart_job).status, Status::done);
  EXPECT_EQ(all<JobEnded>().size(), 1U);
  // A gang that hangs is restarted before anybody has noticed.
  ASSERT_TRUE(twin_->inject(FaultKind::node_hang, NodeId{2}, -1));
  run(minutes(1));
  EXPECT_EQ(start(1, {NodeId{0}, NodeId{1}}, {}, 3, Verb::restart_job).status, Status::done);
  run(minutes(3));
  EXPECT_EQ(all<JobEnded>().size(), 2U);
}

TEST_F(Shares, ARestartThatFailsLeavesTheGangBroken) {
  begin(3, {part(8, 2)});
  start(1, {NodeId{0}, NodeId{1}}, {}, 1);
  run(minutes(10));
  Action a;
  a.verb = Verb::restart_job;
  a.job = {1, 0};
  a.nodes = {NodeId{0}, NodeId{2}};
  a.attempt = 5;
  const std::string key = send(a);
  Action boot;
  boot.verb = Verb::power_cycle_node;
  boot.node = NodeId{2};
  send(boot);
  run(seconds(5));
  EXPECT_EQ(ended_[key].status, Status::failed);
  EXPECT_EQ(start(1, {NodeId{0}, NodeId{1}}, {}, 0, Verb::start_job).detail, "the job is not queued");
  EXPECT_EQ(start(1, {NodeId{0}, NodeId{1}}, {}, 2, Verb::restart_job).status, Status::done);
  EXPECT_EQ(all<JobStarted>().back().attempt, 2U);
}

TEST_F(Shares, AnArrayIsSoManyJobs) {
  JobSpec j = part(1);
  j.array = 3;
  begin(1, {j});
  EXPECT_EQ(ended_["k1"].detail, "1");
  const auto jobs = all<JobSubmitted>();
  ASSERT_EQ(jobs.size(), 3U);
  EXPECT_EQ(render(jobs[0].job), "1_0");
  EXPECT_EQ(render(jobs[2].job), "1_2");
  EXPECT_EQ(jobs[2].spec.array, 0U);
  EXPECT_EQ(jobs[2].spec.name, "p_2");
  Action a;
  a.verb = Verb::start_job;
  a.job = jobs[1].job;
  a.nodes = {NodeId{0}};
  a.slots = {1};
  EXPECT_EQ(give(a).status, Status::done);
}

TEST_F(Shares, AnExactStartUpMakesAnExactDuration) {
  JobSpec j = part(8, 1, 100);
  j.init_s = 0;
  j.checkpoint_every_s = 0;
  begin(1, {j});
  const Time before = twin_->now().utc;
  start(1, {NodeId{0}}, {});
  run(minutes(30));
  Time began;
  Time over;
  for (std::size_t i = 0; i < events_.size(); ++i) {
    if (std::holds_alternative<JobStarted>(events_[i])) began = at_[i];
    if (std::holds_alternative<JobEnded>(events_[i])) over = at_[i];
  }
  EXPECT_EQ(began, before);
  EXPECT_EQ((over - began).ns, seconds(1000).ns);
}

TEST_F(Shares, ATimeLimitEndsTheAttempt) {
  JobSpec j = part(8, 1, 1000);
  j.time_limit_s = 1800;
  begin(1, {j});
  start(1, {NodeId{0}}, {});
  run(minutes(40));
  ASSERT_EQ(all<JobEnded>().size(), 1U);
  EXPECT_EQ(all<JobEnded>()[0].end, JobEnd::timed_out);
  EXPECT_EQ(all<JobEnded>()[0].detail, "time limit of 30m 00s reached");
  EXPECT_EQ(all<JobEnded>()[0].progress.durable_steps, 120U);
}

TEST(Prices, TomorrowIsAnnouncedAtNoon) {
  Config c = quiet(1);
  c.prices.begins = c.start_utc;
  for (int h = 0; h < 96; ++h) {
    c.prices.actual.push_back(h);
    c.prices.forecast.push_back(h < 72 ? h + 0.5 : std::numeric_limits<double>::quiet_NaN());
  }
  const Time start = c.start_utc;
  Twin twin(std::move(c));
  twin.advance_to(twin.now().steady + days(5));
  Inbox in;
  twin.poll(in);
  std::vector<PriceAnnounced> said;
  std::vector<Time> when;
  for (const Arrival& a : in.events) {
    if (const auto* p = std::get_if<PriceAnnounced>(&a.body)) {
      said.push_back(*p);
      when.push_back(a.utc);
    }
  }
  ASSERT_EQ(said.size(), 5U);  // at the start, and at four noons: later there is nothing to say
  EXPECT_EQ(said[0].from, start);
  EXPECT_EQ(said[0].price_per_mwh.size(), 24U);
  EXPECT_EQ(said[0].price_per_mwh[0], 0);
  EXPECT_EQ(said[0].price_per_mwh[1], 1.5);
  EXPECT_EQ(when[1], start + hours(12));
  EXPECT_EQ(said[1].from, start + hours(12));
  EXPECT_EQ(said[1].price_per_mwh.size(), 36U);
  EXPECT_EQ(said[1].price_per_mwh.front(), 12);
  EXPECT_EQ(said[1].price_per_mwh.back(), 47.5);
  EXPECT_EQ(said[3].price_per_mwh[13], 49) << "no forecast: as on the last day with this hour behind it";
  EXPECT_EQ(said[4].price_per_mwh.size(), 12U);
}

TEST(Fork, PartsAndSharesGoOn) {
  Config c = quiet(2);
  State s;
  s.site = c.site;
  s.now = {Time{1'800'000'000'000'000'000}, Time{5'000'000'000'000}, Time{5'000'000'000'000}};
  s.nodes.resize(2);
  const auto add = [&](std::uint32_t number, JobSpec spec, std::uint16_t slots) {
    Job j;
    j.id = {number, 0};
    j.spec = std::move(spec);
    j.phase = JobPhase::running;
    j.attempt = 1;
    j.nodes = {NodeId{0}};
    j.slots = {slots};
    j.started = s.now.utc - minutes(10);
    j.progress = {10, 10, 90'000, 0, 0};
    s.jobs[j.id] = j;
  };
  add(1, part(4, 1, 100), 0b1111);
  JobSpec limited = share(500);
  limited.time_limit_s = 1800;  // of which 600 have passed
  add(2, limited, 0b10000);
  add(3, share(500), 0b10000);
  add(4, share(500), 0b10000);  // which cannot be: it waits for somebody to say where
  Twin twin(c, s);
  EXPECT_NEAR(twin.allocated_share(), 0, 1e-9);
  twin.advance_to(twin.now().steady + hours(1));
  EXPECT_NEAR(twin.allocated_share(), (4.0 * 900 / 3600 + 0.5 + 0.5 * 1200 / 3600) / 16, 0.005);
  Inbox in;
  twin.poll(in);
  std::set<std::uint32_t> over;
  for (const Arrival& a : in.events) {
    if (const auto* e = std::get_if<JobEnded>(&a.body)) over.insert(e->job.number);
  }
  EXPECT_EQ(over, (std::set<std::uint32_t>{1, 2}));
}

// The wire to a controller in another process.
struct Exchange final : HttpExchange {
  const HttpRequest& request() const override { return asked; }
  void respond(HttpResponse r) override { answer = std::move(r); }
  std::shared_ptr<HttpStream> stream(HttpResponse) override { return nullptr; }
  HttpRequest asked;
  HttpResponse answer;
};

TEST(Serve, AnInjectionCarriesItsSlot) {
  Config c = quiet(2);
  const Site site = c.site;
  Twin twin(std::move(c));
  Service service(twin, site, "b", "", 1, [](const Order&) { return Result<void>(); });
  const auto inject = [&](const std::string& body) {
    auto x = std::make_shared<Exchange>();
    x->asked.method = "POST";
    x->asked.path = "/v1/inject";
    x->asked.json = *parse_json(body);
    service.handler()(x);
    return x->answer.status;
  };
  const std::string node = site.nodes[1].name;
  EXPECT_EQ(inject(R"({"fault":"gpu_off_bus","node":")" + node + R"(","slot":3})"), 200);
  ASSERT_EQ(twin.faults().size(), 1U);
  EXPECT_EQ(twin.faults()[0].slot, 3);
  EXPECT_EQ(inject(R"({"fault":"gpu_off_bus","node":")" + node + R"(","slot":8})"), 400);
  EXPECT_EQ(inject(R"({"fault":"bad_push","share":0})"), 400) << "it would reach no node";
}

TEST(Serve, OrdersAndEventsCarrySlots) {
  Config c = quiet(2);
  c.workload.jobs.push_back({seconds(1), part(2)});
  const Site site = c.site;
  Twin twin(std::move(c));
  Service service(twin, site, "b", "", 1, [](const Order&) { return Result<void>(); });
  const auto call = [&](const char* method, const char* path, const std::string& body) {
    auto x = std::make_shared<Exchange>();
    x->asked.method = method;
    x->asked.path = path;
    if (!body.empty()) x->asked.json = *parse_json(body);
    service.handler()(x);
    return x->answer;
  };
  service.advance_to(twin.now().steady + seconds(5));
  Order o;
  o.key = "s";
  o.action.verb = Verb::start_job;
  o.action.job = {1, 0};
  o.action.nodes = {NodeId{1}};
  o.action.slots = {0b110};
  EXPECT_EQ(call("POST", "/v1/orders", encode_order(o)).status, 200);
  service.advance_to(twin.now().steady + seconds(5));
  o.key = "r";
  o.action.verb = Verb::restart_job;
  o.action.attempt = 2;
  o.action.slots = {0b11000};
  EXPECT_EQ(call("POST", "/v1/orders", encode_order(o)).status, 200);
  service.advance_to(twin.now().steady + seconds(5));
  const auto told = parse_json(call("GET", "/v1/reports", "").body);
  ASSERT_TRUE(told);
  std::vector<std::uint16_t> slots;
  for (const Value& e : *told->find("events")->array()) {
    const auto b = decode_body(*e.find("type")->string(), *e.find("body"));
    ASSERT_TRUE(b);
    if (const auto* s = std::get_if<JobStarted>(&*b)) slots.insert(slots.end(), s->slots.begin(), s->slots.end());
  }
  EXPECT_EQ(slots, (std::vector<std::uint16_t>{0b110, 0b11000}));
}

}  // namespace
}  // namespace muster::twin
