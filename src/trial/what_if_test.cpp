#include "trial/what_if.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "ingest/json.h"
#include "ingest/policy_file.h"
#include "trial/controlled.h"
#include "trial/what_if_answer.h"
#include "trial/what_if_desk.h"

namespace muster::trial {
namespace {

Value json(std::string_view text) {
  const auto v = parse_json(text);
  EXPECT_TRUE(v) << text;
  return v ? *v : Value();
}

std::string text_at(const Value& v, std::string_view key) {
  const Value* x = v.find(key);
  return x != nullptr && x->string() != nullptr ? *x->string() : std::string();
}

WhatIfWorld world() {
  WhatIfWorld w;
  w.twin = stormy(1, 1'000);
  w.own = true;
  w.read_policy = [](const std::string& text) { return parse_policy(text, "the policy"); };
  w.make_journal = [] { return std::make_unique<KeptJournal>(); };
  return w;
}

control::Books some_hours() {
  Controlled c(stormy(3, 1'000), roomy_policy());
  c.run(hours(4));
  auto books = control::restore(c.journal, PlainJson::parse);
  EXPECT_TRUE(books);
  return *books;
}

TEST(WhatIf, AQuestionIsReadAndSaidAsACommand) {
  const auto ask = parse_what_if(json(R"({"policy":{"limits.out_cluster_pct":20,"silent_after":"5m"},"add_nodes":8,
      "remove":["node[1-2]"],"spares":1,"days":14,"seeds":10,"weather":3})"));
  ASSERT_TRUE(ask) << ask.error().what;
  EXPECT_EQ(ask->site.add, 8U);
  EXPECT_EQ(ask->site.remove_named, (std::vector<std::string>{"node1", "node2"}));
  EXPECT_EQ(command_of(*ask),
            "muster whatif --set limits.out_cluster_pct=20 --set silent_after=5m --add-nodes 8 --remove 'node[1-2]' --spares 1 "
            "--days 14 --seeds 10 --weather x3");
}

TEST(WhatIf, TheCommandNamesThePolicyAsItWasGiven) {
  const auto command = [](std::string_view text) {
    const auto r = parse_what_if(json(text));
    return r ? command_of(*r) : r.error().what;
  };
  EXPECT_EQ(command(R"({"policy_name":"cautious","days":3})"), "muster whatif --policy cautious --days 3");
  EXPECT_EQ(command(R"({"policy_yaml":"silent_after: 5m","policy_file":"my plans/a.yaml","policy":{"slow_step_pct":3}})"),
            "muster whatif --policy 'my plans/a.yaml' --set slow_step_pct=3");
  EXPECT_EQ(command(R"({"policy_yaml":"silent_after: 5m"})"), "muster whatif --policy FILE");
  EXPECT_NE(command(R"({"policy_name":"nosuch"})").find("must be one of"), std::string::npos);
  EXPECT_NE(command(R"({"policy_name":"cautious","policy_yaml":"a: 1"})").find("not both"), std::string::npos);
  EXPECT_NE(command(R"({"policy_file":"a.yaml","add_nodes":1})").find("policy_yaml"), std::string::npos);
}

TEST(WhatIf, WhatIsSoAlreadyIsNoChange) {
  const control::Books books = some_hours();
  WhatIf ask;
  ask.set = {{"limits.out_cluster_pct", "60"}};
  const auto none = plan_what_if(ask, books.state, world());
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().what, "limits.out_cluster_pct 60 instead of 60: nothing changes");
  ask.set.emplace_back("limits.out_rack_pct", "31");
  const auto one = plan_what_if(ask, books.state, world());
  ASSERT_TRUE(one) << one.error().what;
  ASSERT_EQ(one->changes.size(), 1U) << "what stays is not said to change";
  EXPECT_TRUE(one->changes[0].starts_with("limits.out_rack_pct 31 instead of")) << one->changes[0];
  ask.set.clear();
  ask.spares = spares_of(books.state.site, books.state.policy.scheduling.spare_confidence);
  EXPECT_FALSE(plan_what_if(ask, books.state, world()));
}

TEST(WhatIf, WrongQuestionsAreRefusedInWords) {
  const auto what = [](std::string_view text) {
    const auto r = parse_what_if(json(text));
    return r ? std::string() : r.error().what;
  };
  EXPECT_EQ(what("{\"days\":3}"), "nothing is changed: there is nothing to compare");
  EXPECT_EQ(what("{\"add_nodes\":1,\"days\":400}"), "days must be 0.25 to 60, is 400");
  EXPECT_NE(what("{\"add_node\":1}").find("add_node"), std::string::npos);
  EXPECT_NE(what("{\"add_nodes\":\"many\"}").find("whole number"), std::string::npos);
  EXPECT_NE(what("{\"policy\":{\"limits\":{}}}").find("limits"), std::string::npos);
  EXPECT_NE(what("[]").find("mapping"), std::string::npos);
}

TEST(WhatIf, SparesAreWhatThePolicyCanKeep) {
  Site site = stormy().site;
  const auto one = spare_confidence_for(site, 1);
  ASSERT_TRUE(one) << one.error().what;
  EXPECT_EQ(spares_of(site, *one), 1U);
  EXPECT_EQ(spares_of(site, *one - 0.002), 0U);
  EXPECT_EQ(*spare_confidence_for(site, 0), 0.0);
  const auto many = spare_confidence_for(site, 9);
  ASSERT_FALSE(many);
  EXPECT_NE(many.error().what.find("at most 1"), std::string::npos) << many.error().what;
}

TEST(WhatIf, TooMuchIsRefusedWithWhatWouldDo) {
  const control::Books books = some_hours();
  WhatIf ask;
  ask.site.add = 60'000;
  const auto plan = plan_what_if(ask, books.state, world());
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, Code::refused);
  EXPECT_NE(plan.error().next.find("days"), std::string::npos) << plan.error().next;
}

TEST(WhatIf, ThePlanSaysWhatChangesAndWhatIsAssumed) {
  control::Books books = some_hours();
  books.state.policy.shadow = true;
  books.state.policy.gpu_hour_price = 2;
  books.state.paused = true;
  WhatIf ask;
  ask.site.add = 4;
  ask.set = {{"limits.out_cluster_pct", "20"}};
  const auto plan = plan_what_if(ask, books.state, world());
  ASSERT_TRUE(plan) << plan.error().what;
  EXPECT_EQ(plan->changes, (std::vector<std::string>{"4 more nodes", "limits.out_cluster_pct 20 instead of 60"}));
  EXPECT_EQ(plan->changed.nodes, 28U);
  EXPECT_EQ(plan->changed.policy.limits.out_cluster_pct, 20);
  EXPECT_FALSE(plan->base.policy.shadow);
  EXPECT_EQ(plan->price, 2);
  std::string all;
  for (const std::string& s : plan->assumptions) all += s + "\n";
  for (const char* word : {"shadow mode", "paused", "mix research", "node25 to node28", "x1000"})
    EXPECT_NE(all.find(word), std::string::npos) << word << " is not in\n" << all;
  ask.set = {{"shadow", "true"}};
  EXPECT_FALSE(plan_what_if(ask, books.state, world()));
}

struct Desk {
  control::Books books = some_hours();
  std::atomic<bool> open{true};  // false: reading takes until it is
  int ids = 0;
  WhatIfDesk desk{{.read = [this]() -> Result<control::Books> {
                     while (!open) std::this_thread::sleep_for(std::chrono::milliseconds(1));
                     return books;
                   },
                   .latest =
                       [this] {
                         auto s = std::make_shared<Snapshot>();
                         s->state = books.state;
                         return s;
                       },
                   .world = [](const Site&) -> Result<WhatIfWorld> { return world(); },
                   .new_id = [this] { return "w" + std::to_string(++ids); },
                   .on_thread = {}}};

  Value ask(std::string_view text) {
    const auto r = desk.call(json(text));
    EXPECT_TRUE(r) << r.error().what;
    return r ? json(*r) : Value();
  }
  Value end_of(const std::string& id) {
    for (;;) {
      Value v = ask("{\"id\":\"" + id + "\"}");
      if (text_at(v, "state") != "running") return v;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
};

TEST(WhatIfDesk, AnswersWithBothSidesVerdictsAndTheCommand) {
  Desk d;
  const Value begun = d.ask(R"({"add_nodes":4,"days":0.25,"seeds":2})");
  EXPECT_EQ(text_at(begun, "id"), "w1");
  const Value v = d.end_of("w1");
  ASSERT_EQ(text_at(v, "state"), "done");
  EXPECT_EQ(text_at(v, "command"), "muster whatif --add-nodes 4 --days 0.25 --seeds 2");
  ASSERT_NE(v.find("metrics"), nullptr);
  std::vector<std::string> names;
  for (const Value& m : *v.find("metrics")->array()) {
    names.push_back(text_at(m, "name"));
    EXPECT_FALSE(text_at(m, "verdict").empty());
    EXPECT_NE(m.find("difference")->find("mean"), nullptr);
  }
  for (const char* wanted : {"goodput_pct", "lost_pct", "useful_gpu_hours", "queue_wait_h", "mttr_p50_min"})
    EXPECT_NE(std::find(names.begin(), names.end(), wanted), names.end()) << wanted;
  const auto lost = std::find(names.begin(), names.end(), "gpu_hours_lost");
  ASSERT_LT(lost + 1, names.end());
  const Value::Array& metrics = *v.find("metrics")->array();
  EXPECT_FALSE(*metrics[static_cast<std::size_t>(lost - names.begin())].find("part")->boolean());
  EXPECT_TRUE(*metrics[static_cast<std::size_t>(lost - names.begin()) + 1].find("part")->boolean());
  EXPECT_EQ(*v.find("changed")->find("nodes")->integer(), 28);
  const Value::Array& said = *v.find("sentences")->array();
  ASSERT_FALSE(said.empty());
  EXPECT_EQ(said[0].string()->find("With 4 more nodes"), 0U) << *said[0].string();
  // It stays, also when the next one has been asked.
  d.ask(R"({"policy":{"silent_after":"5m"},"days":0.25,"seeds":2})");
  EXPECT_EQ(text_at(d.end_of("w2"), "state"), "done");
  EXPECT_EQ(text_at(d.end_of("w1"), "state"), "done");
  const Value list = d.ask("{}");
  ASSERT_EQ(list.find("items")->array()->size(), 2U);
  const Value& newest = list.find("items")->array()->front();
  EXPECT_EQ(text_at(newest, "asked_utc"), render_utc(d.books.state.now.utc));
  double days = 0, weather = 0;
  EXPECT_TRUE(newest.find("days")->number(days) && newest.find("weather")->number(weather));
  EXPECT_EQ(days, 0.25);
  EXPECT_EQ(weather, 1000);
}

TEST(WhatIfDesk, WorksAtOneAtATimeAndStopsWhenTold) {
  Desk d;
  d.open = false;
  d.ask(R"({"add_nodes":4,"days":60,"seeds":8})");
  const auto second = d.desk.call(json(R"({"add_nodes":2,"days":0.25,"seeds":2})"));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::conflict);
  EXPECT_EQ(second.error().what.find("one is running: w1"), 0U) << second.error().what;
  d.ask("{\"cancel\":\"w1\"}");
  d.open = true;
  EXPECT_EQ(text_at(d.end_of("w1"), "state"), "cancelled");
  d.ask(R"({"add_nodes":2,"days":0.25,"seeds":2})");
  EXPECT_EQ(text_at(d.end_of("w2"), "state"), "done");
}

TEST(WhatIfDesk, ReadingIsToldFromStartingAndStopping) {
  for (const char* reads : {"{}", R"({"id":"w1"})"}) EXPECT_TRUE(WhatIfDesk::only_reads(json(reads))) << reads;
  for (const char* acts : {R"({"cancel":"w1"})", R"({"add_nodes":2})", "[]"}) EXPECT_FALSE(WhatIfDesk::only_reads(json(acts)));
  Desk d;
  EXPECT_FALSE(d.desk.call(json(R"({"id":"w1","add_nodes":2})"))) << "an id does not open the way to more";
}

TEST(WhatIfDesk, AnUnknownNameIsNotFoundAndABadQuestionStartsNothing) {
  Desk d;
  const auto unknown = d.desk.call(json("{\"id\":\"w9\"}"));
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Code::not_found);
  EXPECT_FALSE(d.desk.call(json(R"({"remove":["nowhere"]})")));
  EXPECT_FALSE(d.desk.call(json(R"({"policy":{"limits.out_cluster_pct":400}})")));
  EXPECT_EQ(d.ask("{}").find("items")->array()->size(), 0U);
}

TEST(WhatIfDesk, ADeskThatIsClosedStopsItsWork) {
  Desk d;
  d.ask(R"({"add_nodes":4,"days":60,"seeds":8})");
}

}  // namespace
}  // namespace muster::trial
