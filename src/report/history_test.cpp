#include "report/history.h"

#include <gtest/gtest.h>

#include "ingest/json.h"
#include "model/story.h"
#include "report/units.h"

namespace muster::report {
namespace {

constexpr double kHour = 3'600'000;

// A cluster of eight nodes whose every event is heard, from the first on.
class Timeline : public ::testing::Test {
 protected:
  Timeline() {
    State past;
    for (Body b : {Body(RunStarted{"test", 1, 1, "j", start}), Body(SiteDeclared{small_site(8)}),
                   Body(PolicyApplied{default_policy(), "hash"}), Body(TurnBegan{1, start})}) {
      const Event e = next_event(past, "test", start.utc, std::move(b));
      fold(past, e);
      history.take(e);
    }
    t.heard = [this](const Event& e) { history.take(e); };
  }
  // From so long after the beginning to so long after it.
  Value window(Duration from, Duration to, std::size_t max_bars = History::kBarsUsual) const {
    const auto text = history.window_json(start.utc + from, start.utc + to, max_bars);
    EXPECT_TRUE(text) << text.error().what;
    return parse_json(text.value()).value();
  }
  static double number(const Value& list, std::size_t k) {
    double d = -1e99;
    const auto* a = list.array();
    if (a != nullptr && k < a->size()) (*a)[k].number(d);
    return d;
  }
  static std::string text(const Value& list, std::size_t k) {
    const auto* s = list.array()->at(k).string();
    return s == nullptr ? "(none)" : *s;
  }
  static bool goes_on(const Value& list, std::size_t k) { return list.array()->at(k).is_null(); }

  Story t{8};
  const Now start = t.now();
  History history;
};

TEST_F(Timeline, AJobThatRestartsHasABarForEachAttempt) {
  const JobId job = t.submit(3, "llama");
  t.tell(JobStarted{job, 1, {NodeId{1}, NodeId{2}, NodeId{5}}});
  t.pass(hours(1));
  t.tell(JobEnded{job, 1, JobEnd::node_failed, {}, "node n5 is gone"});
  t.tell(JobRequeued{job});
  t.pass(hours(1));
  t.tell(JobStarted{job, 2, {NodeId{1}, NodeId{2}, NodeId{3}}, {0x0f, 0x0f, 0x0f}, t.now().utc - minutes(30)});
  t.pass(hours(1));
  const Value v = window(hours(0), hours(4));
  const auto& jobs = list_of(v, "jobs");
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(text(jobs[0], 0), render(job));
  EXPECT_EQ(number(jobs[0], 1), 1);
  EXPECT_EQ(number(jobs[0], 2), 0);
  EXPECT_EQ(number(jobs[0], 3), kHour);
  const auto& places = *jobs[0].array()->at(4).array();
  ASSERT_EQ(places.size(), 2u) << "neighbours are one range";
  EXPECT_EQ(number(places[0], 0), 1);
  EXPECT_EQ(number(places[0], 1), 2);
  EXPECT_EQ(number(places[1], 0), 5);
  EXPECT_EQ(text_of(v, "merged"), "false");
  EXPECT_EQ(*list_of(v, "ends").at(static_cast<std::size_t>(number(jobs[0], 5))).string(), "node_failed");
  EXPECT_EQ(number(jobs[1], 2), 1.5 * kHour) << "it was told late";
  EXPECT_TRUE(goes_on(jobs[1], 3) && goes_on(jobs[1], 5));
  EXPECT_EQ(number(jobs[1], 7), 0x0f);
  EXPECT_EQ(number(jobs[0], 6), number(jobs[1], 6));
  ASSERT_EQ(list_of(v, "job_names").size(), 1u);
  EXPECT_EQ(text(list_of(v, "job_names")[0], 0), "llama");
}

TEST_F(Timeline, CountsTheGpusThatHaveAJob) {
  const JobId whole = t.running({NodeId{0}, NodeId{1}});
  const JobId half = t.submit(1);
  t.tell(JobStarted{half, 1, {NodeId{2}}, {0x0f}});
  t.pass(hours(2));
  t.tell(JobEnded{whole, 1, JobEnd::completed, {}, {}});
  t.pass(hours(2));
  const Value v = window(hours(0), hours(8));
  const Value* busy = v.find("busy");
  const auto& gpus = list_of(*busy, "gpus");
  ASSERT_EQ(gpus.size(), 480u) << "as far as the record goes";
  EXPECT_EQ(number_of(*busy, "every_ms"), 4 * kHour / 480);
  double first = 0, last = 0;
  gpus.front().number(first);
  gpus.back().number(last);
  EXPECT_EQ(first, 20);
  EXPECT_EQ(last, 4);
}

TEST_F(Timeline, AnAttemptWhoseEndNobodyToldEndsWhereTheNextBegins) {
  const JobId job = t.running({NodeId{0}});
  t.pass(hours(1));
  t.tell(JobStarted{job, 1, {NodeId{0}}});  // told again
  t.tell(JobStarted{job, 2, {NodeId{4}}});
  t.pass(hours(1));
  t.tell(JobGone{job, JobEnd::cancelled});
  const Value v = window(hours(0), hours(4));
  const auto& jobs = list_of(v, "jobs");
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(number(jobs[0], 3), kHour);
  EXPECT_EQ(*list_of(v, "ends").at(static_cast<std::size_t>(number(jobs[0], 5))).string(), "unknown");
  EXPECT_EQ(*list_of(v, "ends").at(static_cast<std::size_t>(number(jobs[1], 5))).string(), "cancelled");
}

TEST_F(Timeline, ADrainIsAHoldUntilTheNodeIsPutBack) {
  t.pass(hours(1));
  t.drained(NodeId{3}, {}, "c1");
  t.pass(hours(2));
  t.ends(t.order(Verb::undrain_node, NodeId{3}, {}, "c2"));
  t.tell(NodeHeld{NodeId{4}, true, "root", "fans", false, false});
  t.tell(NodeChanged{NodeId{5}, NodeCondition::kept, "power saving"});
  t.pass(hours(1));
  const Value v = window(hours(0), hours(8));
  const auto& holds = list_of(v, "holds");
  ASSERT_EQ(holds.size(), 3u);
  EXPECT_EQ(number(holds[0], 0), 3);
  EXPECT_EQ(number(holds[0], 1), kHour);
  EXPECT_EQ(number(holds[0], 2), 3 * kHour);
  EXPECT_EQ(text(holds[0], 3), "person");
  EXPECT_EQ(text(holds[0], 5), "for the test");
  EXPECT_TRUE(goes_on(holds[1], 2));
  EXPECT_EQ(text(holds[1], 4), "root");
  EXPECT_EQ(text(holds[2], 3), "kept");
  EXPECT_EQ(text(holds[2], 5), "power saving");
  const auto& orders = list_of(v, "orders");
  ASSERT_EQ(orders.size(), 2u);
  EXPECT_EQ(text(orders[0], 0), "drain_node");
  EXPECT_EQ(number(orders[0], 1), kHour);
  EXPECT_EQ(number(orders[0], 2), 3);
  EXPECT_EQ(text(orders[0], 5), "done");
}

TEST_F(Timeline, ANodeIsDownUntilItIsUp) {
  t.tell(NodeChanged{NodeId{2}, NodeCondition::down, "no ping"});
  t.pass(hours(1));
  t.tell(NodeChanged{NodeId{2}, NodeCondition::booting, ""});
  t.pass(minutes(6));
  t.tell(NodeChanged{NodeId{2}, NodeCondition::up, ""});
  const Value v = window(hours(0), hours(8));
  const auto& down = list_of(v, "down");
  ASSERT_EQ(down.size(), 2u);
  EXPECT_EQ(text(down[0], 3), "down");
  EXPECT_EQ(text(down[0], 4), "no ping");
  EXPECT_EQ(text(down[1], 3), "booting");
  EXPECT_EQ(number(down[1], 2), kHour + 360'000);
}

TEST_F(Timeline, AnIncidentHasTheCauseThatIsKnownInTheEnd) {
  const IncidentId id = t.open(t.find(FindingKind::thermal_throttle, NodeId{6}, 2, Witness::scrape, Severity::warning));
  t.pass(hours(1));
  t.tell(IncidentJoined{id, t.find(FindingKind::gpu_lost, NodeId{6}, 3)});
  const Value open = window(hours(0), hours(8));
  ASSERT_EQ(list_of(open, "incidents").size(), 1u);
  EXPECT_TRUE(goes_on(list_of(open, "incidents")[0], 5));
  EXPECT_EQ(text(list_of(open, "incidents")[0], 3), "gpu_lost");
  t.ends(t.order(Verb::reset_gpu, NodeId{6}, id), Status::failed);
  t.ends(t.order(Verb::probe_node, NodeId{6}, id));
  t.pass(hours(1));
  t.tell(IncidentClosed{id, "swapped"});
  const Value v = window(hours(0), hours(8));
  const Value& i = list_of(v, "incidents").at(0);
  EXPECT_EQ(number(i, 0), static_cast<double>(id.v));
  EXPECT_EQ(number(i, 1), 6);
  EXPECT_EQ(number(i, 2), 3);
  EXPECT_EQ(text(i, 3), "gpu_lost");
  EXPECT_EQ(number(i, 5), 2 * kHour);
  EXPECT_EQ(text(i, 6), "swapped");
  ASSERT_EQ(list_of(v, "orders").size(), 1u) << "reading a node does nothing to it";
  EXPECT_EQ(text(list_of(v, "orders")[0], 5), "failed");
  EXPECT_EQ(number(list_of(v, "orders")[0], 6), static_cast<double>(id.v));
}

TEST_F(Timeline, TellsUpgradesCommandsPoliciesAndPrices) {
  CommandGiven c;
  c.verb = CommandVerb::upgrade;
  c.actor = "ada";
  c.id = "u1";
  c.upgrade.version = "580.105.08";
  t.tell(c);
  t.tell(c);  // a repeat
  const std::uint64_t id = t.s.upgrade.id;
  t.pass(hours(5));
  t.tell(UpgradePhased{id, UpgradePhase::done, "all nodes have it"});
  t.tell(PolicyApplied{default_policy(), "other"});
  t.tell(PolicyApplied{default_policy(), "other"});
  t.tell(PriceAnnounced{start.utc, {20.5, -31, 40}, {300, 310}});
  const Value v = window(minutes(90), hours(8));
  ASSERT_EQ(list_of(v, "upgrades").size(), 1u);
  const Value& u = list_of(v, "upgrades")[0];
  EXPECT_EQ(number(u, 1), -1.5 * kHour) << "before the stretch";
  EXPECT_EQ(number(u, 2), 3.5 * kHour);
  EXPECT_EQ(text(u, 3), "driver 580.105.08");
  EXPECT_EQ(text(u, 4), "done");
  EXPECT_TRUE(list_of(v, "commands").empty()) << "given before the stretch";
  EXPECT_EQ(list_of(window(hours(0), hours(8)), "commands").size(), 1u);
  ASSERT_EQ(list_of(v, "policies").size(), 1u);
  EXPECT_EQ(text(list_of(v, "policies")[0], 2), "other");
  const auto& prices = list_of(v, "prices");
  ASSERT_EQ(prices.size(), 2u) << "the hour in which the stretch begins, and the one after";
  EXPECT_EQ(number(prices[0], 1), -31);
  EXPECT_EQ(number(prices[0], 2), 310);
  EXPECT_TRUE(goes_on(prices[1], 2)) << "no word about its carbon";
}

TEST_F(Timeline, AStretchInWhichNothingHappenedHasOnlyNames) {
  t.running({NodeId{0}});
  t.pass(hours(1));
  const auto before = history.window_json(start.utc - hours(9), start.utc - hours(8));
  ASSERT_TRUE(before);
  const Value v = parse_json(*before).value();
  EXPECT_EQ(list_of(v, "nodes").size(), 8u);
  ASSERT_EQ(list_of(v, "racks").size(), 2u);
  EXPECT_EQ(text_of(list_of(v, "racks")[1], "name"), "r1");
  EXPECT_EQ(list_of(list_of(v, "racks")[1], "nodes").size(), 4u);
  for (const char* list : {"jobs", "many", "incidents", "holds", "down", "orders", "prices"}) {
    EXPECT_TRUE(list_of(v, list).empty()) << list;
  }
  EXPECT_EQ(text_of(v, "first_utc"), render_utc(start.utc));
  EXPECT_EQ(text_of(v, "last_utc"), render_utc(t.now().utc));
}

TEST_F(Timeline, SaysWhatIsWrongWithAQuestion) {
  EXPECT_EQ(history.window_json(start.utc, start.utc).error().code, Code::bad_input);
  EXPECT_EQ(history.window_json(start.utc, start.utc + hours(1), 0).error().code, Code::bad_input);
  EXPECT_EQ(history.window_json(start.utc, start.utc + hours(1), 1'000'000).error().code, Code::bad_input);
  EXPECT_EQ(History().window_json(start.utc, start.utc + hours(1)).error().code, Code::not_found);
}

TEST_F(Timeline, ShortAttemptsAreMergedWhereThereAreTooMany) {
  const JobId lasting = t.running({NodeId{7}});
  for (int k = 0; k < 100; ++k) {
    const JobId job = t.running({NodeId{static_cast<std::uint32_t>(k % 2)}});
    t.pass(minutes(6));
    t.tell(JobEnded{job, 1, k == 99 ? JobEnd::app_failed : JobEnd::completed, {}, {}});
  }
  const Value v = window(hours(0), hours(10), 20);
  EXPECT_EQ(text_of(v, "merged"), "true");
  EXPECT_EQ(number_of(v, "attempts"), 101);
  const auto& jobs = list_of(v, "jobs");
  ASSERT_EQ(jobs.size(), 10u);
  EXPECT_EQ(text(jobs[0], 0), render(lasting)) << "what is long stays";
  const auto& many = list_of(v, "many");
  ASSERT_FALSE(many.empty());
  EXPECT_LE(many.size(), 24u);
  double busy_ms = 0, bad = 0;
  for (const Value& m : many) {
    busy_ms += number(m, 6) * number(m, 1) * (number(m, 3) - number(m, 2));
    bad += number(m, 5);
  }
  EXPECT_NEAR(busy_ms, 91 * 0.1 * kHour, 0.05 * kHour) << "no time is lost";
  EXPECT_EQ(bad, 1);
}

TEST(History, TextsAreKeptOnce) {
  TextPool pool;
  EXPECT_EQ(pool.put(""), 0u);
  std::vector<std::uint32_t> ids;
  for (int k = 0; k < 5000; ++k) ids.push_back(pool.put("text " + std::to_string(k)));
  const std::string longest(3 << 20, 'x');
  const std::uint32_t large = pool.put(longest);
  for (int k = 0; k < 5000; ++k) {
    EXPECT_EQ(pool.put("text " + std::to_string(k)), ids[static_cast<std::size_t>(k)]);
    EXPECT_EQ(pool.get(ids[static_cast<std::size_t>(k)]), "text " + std::to_string(k));
  }
  EXPECT_EQ(pool.get(large), longest);
  EXPECT_EQ(pool.put(longest), large);
  EXPECT_EQ(pool.get(pool.put("after it")), "after it");
}

// A year of a busy cluster of a thousand nodes.
TEST(History, TwoHundredThousandAttemptsStayWithinBounds) {
  constexpr std::uint32_t kNodes = 1000, kJobs = 200'000;
  History history;
  State s;
  Now now;
  now.utc = Time{1'767'225'600'000'000'000};
  const auto tell = [&](Body b) { history.take(Event{1, ++s.seq, {}, now.utc, std::move(b)}); };
  tell(RunStarted{"test", 1, 1, "j", now});
  tell(SiteDeclared{small_site(kNodes)});
  tell(PolicyApplied{default_policy(), "hash"});
  const Time begin = now.utc;
  JobSpec spec;
  for (std::uint32_t k = 1; k <= kJobs; ++k) {
    const JobId job{k, 0};
    spec.name = "train-with-quite-a-long-name-" + std::to_string(k);
    tell(JobSubmitted{job, spec});
    tell(JobStarted{job, 1, {NodeId{k % kNodes}}});
    now.utc = now.utc + minutes(2);
    if (k > kNodes) tell(JobEnded{JobId{k - kNodes, 0}, 1, k % 7 == 0 ? JobEnd::node_failed : JobEnd::completed, {}, {}});
  }
  EXPECT_LT(history.bytes(), 30u << 20) << "a million must stay below 150 MB";
  const auto all = history.window_json(begin, now.utc);
  ASSERT_TRUE(all);
  EXPECT_LT(all->size(), 2'000'000u);
  const Value v = parse_json(*all).value();
  EXPECT_EQ(number_of(v, "attempts"), kJobs);
  EXPECT_EQ(list_of(v, "jobs").size(), History::kBarsUsual / 2);
  EXPECT_LE(list_of(v, "many").size(), History::kBarsUsual);
  const auto day = history.window_json(now.utc - hours(24), now.utc);
  ASSERT_TRUE(day);
  EXPECT_EQ(text_of(parse_json(*day).value(), "merged"), "false");
}

}  // namespace
}  // namespace muster::report
