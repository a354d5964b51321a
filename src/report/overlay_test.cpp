#include <gtest/gtest.h>

#include "diagnose/trace_builder.h"
#include "ingest/json.h"
#include "report/diagnosis.h"
#include "report/units.h"

namespace muster::report {
namespace {

using diagnose::ms;
using diagnose::TraceBuilder;
using diagnose::us;

constexpr std::int64_t kEpoch = 1'700'000'000'123'456'789;

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

// Kernels of 3 ms at the begin of each step of 10 ms, on a clock that counts since 1970.
TraceBuilder lockstep() {
  TraceBuilder b;
  for (std::int64_t s = 0; s < 3; ++s) {
    const std::int64_t at = kEpoch + s * 10 * ms;
    b.step({at, at + 10 * ms});
    b.kernel({at + us, at + 2 * us}, {at + 10 * us, at + 3 * ms}, 7, "</script><img src=x onerror=alert(1)>");
  }
  b.t.rank = 4;
  return b;
}

Diagnosis diagnosis_of(const Trace& t) {
  Diagnosis d;
  d.profiles.push_back(diagnose::take_apart(t, "rank4.json", d.peaks));
  d.verdict = diagnose::verdict_of(d.profiles);
  return d;
}

TEST(Overlay, IsJsonWithOneProcessForEachRankAndItsThreeTracks) {
  const TraceBuilder b = lockstep();
  const std::string json = perfetto_overlay(diagnosis_of(b.t));
  const auto v = parse_json(json);
  ASSERT_TRUE(v) << v.error().what;
  std::vector<std::string> tracks;
  for (const Value& e : list_of(*v, "traceEvents")) {
    if (text_of(e, "ph") == "M" && e.find("args")->find("name") != nullptr) tracks.push_back(text_of(*e.find("args"), "name"));
  }
  EXPECT_EQ(tracks,
            (std::vector<std::string>{"muster: rank 4", "where the step's time goes", "why the GPU is idle", "findings"}));
}

TEST(Overlay, KeepsEachNanosecondOfClocksThatCountSince1970) {
  const TraceBuilder b = lockstep();
  const std::string json = perfetto_overlay(diagnosis_of(b.t));
  EXPECT_TRUE(has(json, "\"ts\":1700000000123456.789,\"dur\":10000.000"));
}

TEST(Overlay, ClocksMayCountFromBelowZero) {
  TraceBuilder b;
  b.event({-1'500, -200}, "kernel");
  EXPECT_TRUE(has(perfetto_overlay(diagnosis_of(b.t)), "\"ts\":-1.500,\"dur\":1.300"));
}

TEST(Overlay, TheGapsSumToWhatTheStepsAreIdle) {
  const TraceBuilder b = lockstep();
  const Diagnosis d = diagnosis_of(b.t);
  const auto v = parse_json(perfetto_overlay(d));
  ASSERT_TRUE(v);
  double steps_us = 0, idle_us = 0;
  for (const Value& e : list_of(*v, "traceEvents")) {
    if (text_of(e, "ph") != "X") continue;
    (number_of(e, "tid") == 1 ? steps_us : idle_us) += number_of(e, "dur").value_or(-1e9);
  }
  const diagnose::PartTimes parts = d.profiles[0].line.parts();
  EXPECT_GT(idle_us, 0);
  EXPECT_NEAR(steps_us - idle_us, static_cast<double>(parts[0]) / 1e3, 0.01);
}

TEST(Overlay, AFindingStandsAtTheEventThatItsEvidenceNames) {
  const TraceBuilder b = lockstep();
  Diagnosis d = diagnosis_of(b.t);
  diagnose::Finding f;
  f.title = "It is slow";
  f.remedy = "</script>";
  f.evidence = {"nothing here", "the longest, before rank4.json: correlation 2, of many"};
  d.findings = {f};
  EXPECT_TRUE(has(perfetto_overlay(d), "\"ts\":1700000000133466.789,\"s\":\"t\""));
  d.findings[0].evidence = {"from another.json: correlation 2"};
  EXPECT_FALSE(has(perfetto_overlay(d), "It is slow"));
  d.findings[0].evidence = {"rank4.json: ts 1700000000133466.789"};
  EXPECT_TRUE(has(perfetto_overlay(d), "\"ts\":1700000000133466.789,\"s\":\"t\""));
  d.findings[0].evidence = {"rank4.json: ts ", "rank4.json: correlation 99999999999999999999999", "rank4.json: ts 1e999"};
  EXPECT_FALSE(has(perfetto_overlay(d), "It is slow"));
}

TEST(Overlay, CountsHowLongAnExchangeWaits) {
  TraceBuilder b;
  b.exchange({0, us}, {2 * us, 8 * us});
  Diagnosis d = diagnosis_of(b.t);
  d.waits.emplace();
  d.waits->by_event = {{1'500}};
  const std::string json = perfetto_overlay(d);
  EXPECT_TRUE(has(json, "\"ts\":2.000,\"args\":{\"ms\":0.0015}"));
  EXPECT_TRUE(has(json, "\"ts\":8.000,\"args\":{\"ms\":0"));
}

TEST(Overlay, WithoutAProfileItIsEmptyButSound) {
  const auto v = parse_json(perfetto_overlay({}));
  ASSERT_TRUE(v);
  EXPECT_TRUE(list_of(*v, "traceEvents").empty());
}

}  // namespace
}  // namespace muster::report
