#include "report/job_start.h"

#include <gtest/gtest.h>

#include <functional>

namespace muster::report {
namespace {

constexpr std::int64_t kZero = 1'794'808'051'000'000'000;
Time at(double s) { return {kZero + static_cast<std::int64_t>(s * 1e9)}; }
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Nodes n0 and so on, with their prologs' begin and end.
JobStart job(std::size_t nodes, const std::function<std::pair<double, double>(std::size_t)>& prolog) {
  JobStart s;
  s.job = "17";
  s.gpus_per_node = 8;
  s.submitted = at(-30);
  s.allocated = at(0);
  s.allocated_exact = true;
  for (std::size_t i = 0; i < nodes; ++i) {
    const auto [began, ended] = prolog(i);
    s.nodes.push_back({"n" + std::to_string(i), at(began), at(ended), {}});
  }
  return s;
}
// A little earlier or later, as on any machine, and always the same.
double jitter(std::size_t i) { return 0.01 * static_cast<double>(i * 7919 % 13) / 13; }

TEST(JobStart, IsBrokenDownIntoItsParts) {
  JobStart s = job(8, [](std::size_t i) { return std::pair(0.1, 0.3 + jitter(i)); });
  s.batch = at(0.35);
  for (NodeStart& n : s.nodes) n.launched = at(0.7);
  s.nodes.back().ended = at(0.9);  // its prolog ends after the step was asked for
  const StartReport r = explain_start(s);
  EXPECT_NEAR(r.queue_s, 30, 1e-6);
  EXPECT_NEAR(r.to_prolog_s, 0.1, 1e-6);
  EXPECT_NEAR(r.prolog_s, 0.8, 0.02);
  EXPECT_NEAR(r.script_s, 0.35, 1e-6);
  EXPECT_NEAR(r.step_s, 0.55, 1e-6);
  EXPECT_NEAR(r.total_s, 0.9, 1e-6);
  EXPECT_TRUE(r.missing.empty());
  EXPECT_EQ(r.prolog.last, "n7");
}

TEST(JobStart, PrologsSideBySideAreNothingToSpeakOf) {
  const StartReport r = explain_start(job(8, [](std::size_t i) { return std::pair(0.1, 0.3 + jitter(i)); }));
  EXPECT_TRUE(r.cause.empty()) << r.cause;
  EXPECT_TRUE(has(render_start(r), "nothing is serial")) << render_start(r);
}

TEST(JobStart, ALockThatAllShareIsNamedWithWhatItCosts) {
  const StartReport r = explain_start(job(
      64, [](std::size_t i) { return std::pair(0.1 + jitter(i), 0.2 + 0.1 * static_cast<double>(i * 29 % 64) + jitter(i)); }));
  EXPECT_EQ(r.order, StartOrder::queued);
  EXPECT_NEAR(r.each_s, 0.1, 0.01);
  EXPECT_EQ(r.at_a_time, 1U);
  EXPECT_NEAR(r.cost_s, 6.3, 0.1);
  const std::string text = render_start(r);
  EXPECT_TRUE(has(text, "serial: the prologs of 64 nodes began together and ended one at a time")) << text;
  EXPECT_TRUE(has(text, "0.90 GPU-hours")) << text;
  EXPECT_TRUE(has(render_start_json(r), R"("order":"queued")"));
}

TEST(JobStart, PrologsThatBeginOneAfterTheOtherAreAnotherMatter) {
  const StartReport r = explain_start(job(16, [](std::size_t i) {
    const double k = static_cast<double>(i);
    return std::pair(0.5 * k, 0.5 * k + 0.48);
  }));
  EXPECT_EQ(r.order, StartOrder::one_by_one);
  EXPECT_TRUE(has(r.remedy, "PrologFlags=Alloc")) << r.remedy;
}

TEST(JobStart, AServerThatTakesFourAtATimeIsSerialToo) {
  const StartReport r = explain_start(
      job(64, [](std::size_t i) { return std::pair(jitter(i), 1.0 * static_cast<double>(i / 4 + 1) + jitter(i)); }));
  EXPECT_EQ(r.order, StartOrder::queued);
  EXPECT_EQ(r.at_a_time, 4U);
}

TEST(JobStart, OneSlowNodeIsNamedAndNothingIsSerial) {
  const StartReport r = explain_start(job(32, [](std::size_t i) { return std::pair(0.0, i == 7 ? 9.0 : 0.3 + jitter(i)); }));
  EXPECT_EQ(r.order, StartOrder::together);
  EXPECT_EQ(r.straggler, "n7");
  EXPECT_NEAR(r.cost_s, 8.7, 0.1);
  EXPECT_TRUE(has(render_start(r), "one node: all nodes waited for n7")) << render_start(r);
}

TEST(JobStart, ASpreadThatIsOnlyNoiseIsNotCalledSerial) {
  const StartReport r = explain_start(job(64, [](std::size_t i) {
    return std::pair(0.0, 2.0 + 0.02 * static_cast<double>(i));  // all within what one takes
  }));
  EXPECT_EQ(r.order, StartOrder::together) << r.cause;
  EXPECT_TRUE(r.cause.empty());
}

TEST(JobStart, NodesThatAreToldOneAfterTheOtherAreNotSerial) {
  const StartReport r = explain_start(job(64, [](std::size_t i) {
    return std::pair(0.007 * static_cast<double>(i), 0.007 * static_cast<double>(i) + 0.2 + jitter(i));
  }));
  EXPECT_EQ(r.order, StartOrder::together) << r.cause;
}

TEST(JobStart, WhatIsNotKnownIsSaidWithHowToHaveIt) {
  JobStart s;
  s.job = "17";
  s.submitted = at(-1);
  s.allocated = at(0);
  const std::string text = render_start(explain_start(s));
  for (const char* part : {"--starts", "--slurmd-log", "--slurmctld-log", "not known"}) EXPECT_TRUE(has(text, part)) << text;
}

}  // namespace
}  // namespace muster::report
