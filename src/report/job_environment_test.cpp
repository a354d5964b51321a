#include "report/job_environment.h"

#include <gtest/gtest.h>

#include "ingest/json.h"
#include "model/job_environment.h"
#include "report/units.h"

namespace muster::report {
namespace {

struct JobEnvironment : ::testing::Test {
  JobEnvironment() : runs({JobId{7, 0}, JobId{8, 0}, JobId{9, 0}}) {
    Site site;
    site.racks = {"r1", "r2"};
    for (int n = 0; n < 6; ++n) {
      site.nodes.push_back({"gpu" + std::to_string(n)});
      site.nodes.back().rack = n < 3 ? 0 : 1;
      site.nodes.back().leaf = n < 3 ? 0 : 1;
    }
    tell(SiteDeclared{site});
  }
  void tell(Body body) {
    Event e;
    e.seq = ++seq;
    e.utc = Time{1'767'225'600'000'000'000} + seconds(static_cast<std::int64_t>(seq));
    e.body = std::move(body);
    runs.take(e);
  }
  void start(std::uint32_t job, std::uint32_t attempt, std::vector<NodeId> nodes, double step_s = 10) {
    JobSpec spec;
    spec.name = "llm";
    spec.user = "ann";
    spec.step_s = step_s;
    tell(JobSubmitted{{job, 0}, spec});
    tell(JobStarted{{job, 0}, attempt, std::move(nodes), {}, {}});
  }
  void describe(std::uint32_t job, std::uint32_t attempt, std::uint32_t node, Facts facts) {
    tell(JobDescribed{{job, 0}, attempt, NodeId{node}, std::move(facts)});
  }
  Value difference(std::string_view a, std::string_view b, bool all = false) {
    const auto x = parse_run_name(a), y = parse_run_name(b);
    EXPECT_TRUE(x && y);
    const auto text = runs.difference_json(*x, *y, all);
    EXPECT_TRUE(text) << text.error().what;
    return text ? *parse_json(*text) : Value();
  }
  // "nccl.version": of a change; null: it is none.
  static const Value* change(const Value& answer, std::string_view what) {
    for (const Value& c : list_of(answer, "changes")) {
      if (text_of(c, "what") == what) return &c;
    }
    return nullptr;
  }
  JobRuns runs;
  std::uint64_t seq = 0;
};

TEST(RunNames, AJobItsMemberAndItsAttemptAreReadAndNothingElse) {
  EXPECT_EQ(parse_run_name("4711")->job, (JobId{4711, 0}));
  EXPECT_EQ(parse_run_name("4711")->attempt, 0U);
  EXPECT_EQ(parse_run_name("4711_3.2")->job, (JobId{4711, 4}));
  EXPECT_EQ(parse_run_name("4711_3.2")->attempt, 2U);
  for (const char* bad : {"", "x", "0", "4711.", "4711.0", "4711.x", "4711_", "_3", "4711.2.1", "-1", "99999999999", "4711 "})
    EXPECT_FALSE(parse_run_name(bad)) << bad;
  EXPECT_EQ(parse_run_name("a\nb").error().what.find('\n'), std::string::npos);
}

TEST_F(JobEnvironment, WhatChangedBetweenTwoRunsIsToldByLayer) {
  start(7, 1, {NodeId{0}, NodeId{1}});
  describe(7, 1, 0, {{"nccl.version", "2.27.3"}, {"driver.loaded", "580"}, {"env.NCCL_ALGO", "Ring"}});
  describe(7, 1, 1, {{std::string(kSameAsNode), "gpu0"}});
  start(8, 1, {NodeId{3}, NodeId{4}}, 12);
  describe(8, 1, 3, {{"nccl.version", "2.27.5"}, {"driver.loaded", "580"}});
  describe(8, 1, 4, {{std::string(kSameAsNode), "gpu3"}});
  const Value d = difference("7", "8");
  ASSERT_NE(change(d, "nccl.version"), nullptr);
  const auto& a = list_of(*change(d, "nccl.version"), "a");
  ASSERT_EQ(a.size(), 1U);
  EXPECT_EQ(text_of(a[0], "value"), "2.27.3");
  EXPECT_EQ(text_of(a[0], "nodes"), "gpu[0-1]") << "a node that is like another counts with it";
  EXPECT_EQ(text_of(*change(d, "nccl.version"), "layer"), "libraries");
  EXPECT_EQ(change(d, "driver.loaded"), nullptr) << "the same is no change";
  ASSERT_NE(change(d, "env.NCCL_ALGO"), nullptr);
  EXPECT_TRUE(list_of(*change(d, "env.NCCL_ALGO"), "b").empty()) << "one has it, the other has not";
  EXPECT_NE(change(d, "setting.step_s"), nullptr);
  EXPECT_EQ(change(d, "setting.user"), nullptr);
  EXPECT_NE(change(d, "placement.racks"), nullptr);
  EXPECT_TRUE(list_of(d, "same").empty());
  bool driver = false;
  const Value all = difference("7", "8", true);
  for (const Value& s : list_of(all, "same")) driver = driver || text_of(s, "what") == "driver.loaded";
  EXPECT_TRUE(driver) << "--all has what is the same too";
}

TEST_F(JobEnvironment, NodesOfOneRunThatDifferAmongThemselvesAreNamed) {
  start(7, 1, {NodeId{0}, NodeId{1}, NodeId{2}});
  for (std::uint32_t n = 0; n < 3; ++n) describe(7, 1, n, {{"nccl.version", n == 1 ? "2.26.2" : "2.27.5"}});
  start(8, 1, {NodeId{0}, NodeId{1}, NodeId{2}});
  for (std::uint32_t n = 0; n < 3; ++n) describe(8, 1, n, {{"nccl.version", "2.27.5"}});
  const Value d = difference("7", "8");
  ASSERT_EQ(list_of(d, "split").size(), 1U);
  EXPECT_EQ(text_of(list_of(d, "split")[0], "run"), "7.1");
  const std::string text = render_job_difference(d, false);
  EXPECT_NE(text.find("1 of 3 nodes have nccl.version 2.26.2 instead of 2.27.5: gpu1"), std::string::npos) << text;
  EXPECT_NE(change(d, "nccl.version"), nullptr);
}

TEST_F(JobEnvironment, AttemptsOfOneJobAreTwoRunsAndTheLastIsMeantWhereNoneIsSaid) {
  start(7, 1, {NodeId{0}});
  describe(7, 1, 0, {{"image.digest", "sha256:a"}});
  tell(JobEnded{{7, 0}, 1, JobEnd::node_failed, {}, "", {}});
  tell(JobStarted{{7, 0}, 2, {NodeId{1}}, {}, {}});
  describe(7, 2, 1, {{"image.digest", "sha256:b"}});
  const Value d = difference("7.1", "7");
  EXPECT_EQ(text_of(list_of(d, "runs")[1], "run"), "7.2");
  EXPECT_EQ(text_of(list_of(d, "runs")[0], "end"), "node_failed");
  EXPECT_NE(change(d, "image.digest"), nullptr);
  const auto none = runs.difference_json(*parse_run_name("7.3"), *parse_run_name("7"), false);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::not_found);
  EXPECT_NE(none.error().next.find("7.1, 7.2"), std::string::npos);
}

TEST_F(JobEnvironment, AJobOfWhichNothingIsRecordedIsSaidAndSettingsAreComparedAllTheSame) {
  start(7, 1, {NodeId{0}});
  start(8, 1, {NodeId{0}}, 20);
  describe(8, 1, 0, {{"nccl.version", "2.27.5"}});
  const Value d = difference("7", "8");
  EXPECT_EQ(change(d, "nccl.version"), nullptr) << "not everything is new because nobody looked before";
  EXPECT_NE(change(d, "setting.step_s"), nullptr);
  const std::string text = render_job_difference(d, false);
  EXPECT_NE(text.find("nothing is recorded of what 7.1 ran in"), std::string::npos) << text;
  EXPECT_NE(text.find("muster agent"), std::string::npos);
  EXPECT_EQ(runs.difference_json(*parse_run_name("9"), *parse_run_name("7"), false).error().code, Code::not_found);
}

TEST_F(JobEnvironment, AChangeInTheCourseOfAnAttemptIsTold) {
  start(7, 1, {NodeId{0}, NodeId{1}});
  describe(7, 1, 0, {{"driver.loaded", "570"}});
  describe(7, 1, 0, {{"driver.loaded", "580"}});
  const auto text = runs.environment_json(*parse_run_name("7"));
  ASSERT_TRUE(text);
  const Value v = *parse_json(*text);
  ASSERT_EQ(list_of(v, "changed_meanwhile").size(), 1U);
  EXPECT_EQ(text_of(list_of(v, "changed_meanwhile")[0], "to"), "580");
  EXPECT_NE(render_job_environment(v).find("driver.loaded: 580"), std::string::npos);
  ASSERT_EQ(list_of(v, "notes").size(), 1U) << "one of two nodes has not said anything";
}

TEST_F(JobEnvironment, HostileNamesAndValuesReachNoTerminal) {
  start(7, 1, {NodeId{0}});
  describe(7, 1, 0, {{"env.NCCL_\x1b[2J", "a\nb\x1b]0;x\x07"}, {"\xff\xfe", "v"}});
  start(8, 1, {NodeId{0}});
  describe(8, 1, 0, {{"env.NCCL_\x1b[2J", std::string(3000, 'x')}});
  const Value d = difference("7", "8", true);
  const std::string text = render_job_difference(d, false);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\x07'), std::string::npos);
  EXPECT_EQ(text.find("\nb"), std::string::npos);
  EXPECT_LT(text.size(), 5000U);
}

}  // namespace
}  // namespace muster::report
