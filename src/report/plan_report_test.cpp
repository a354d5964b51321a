#include "report/plan_report.h"

#include <gtest/gtest.h>

#include "report/document.h"
#include "report/units.h"

namespace muster::report {
namespace {

PlanReport thirty_days() {
  PlanReport r;
  r.model = "a<b>";
  r.gpu = "h100";
  r.gpus = 64;
  PlanRow row;
  row.candidate.plan.gpus = 64;
  row.candidate.plan.tp = 8;
  row.candidate.step_s = 2;
  row.time.compute_s = 1.5;
  row.time.bubble_s = 0.5;
  row.low = 0.9;
  row.high = 1.2;
  r.rows = {row};
  r.wish.tokens = 1e12;
  r.run = design::WholeRun{.s = 30 * 86'400.0, .gpu_hours = 64 * 720.0};
  r.begin = *parse_utc("2027-01-01T00:00:00Z");
  return r;
}

std::string said(const PlanReport& r) {
  std::string out;
  for (const std::string& line : say_run(r)) out += line + "\n";
  return out;
}

TEST(PlanReport, SaysWhetherItIsInTimeAndWhatWouldBe) {
  PlanReport r = thirty_days();
  r.wish.by = *parse_utc("2027-03-01T00:00:00Z");
  EXPECT_FALSE(r.late());
  EXPECT_NE(said(r).find("ends on 2027-01-31, eight of ten such between 2027-01-28 and 2027-02-06: in time\n"), std::string::npos)
      << said(r);
  r.wish.by = *parse_utc("2027-02-02T00:00:00Z");
  EXPECT_NE(said(r).find("in time, if nothing goes wrong"), std::string::npos) << said(r);
  r.wish.by = *parse_utc("2027-01-16T00:00:00Z");
  EXPECT_TRUE(r.late());
  EXPECT_NE(said(r).find("after 2027-01-16; more GPUs do not help at this batch, or 5e+11 tokens"), std::string::npos) << said(r);
  r.enough = 128;
  EXPECT_NE(said(r).find("after 2027-01-16; 128 GPUs would do, or 5e+11 tokens"), std::string::npos) << said(r);
}

TEST(PlanReport, SaysWhatTheBudgetPaysFor) {
  PlanReport r = thirty_days();
  r.wish.price = 2;
  r.wish.budget = 64 * 720;
  EXPECT_TRUE(r.too_dear());
  EXPECT_NE(said(r).find("over the budget, which pays for 5e+11 tokens"), std::string::npos) << said(r);
  r.wish.budget = 64 * 720 * 3;
  EXPECT_FALSE(r.too_dear());
  EXPECT_NE(said(r).find("within the budget"), std::string::npos) << said(r);
}

TEST(PlanReport, JsonHasWhatTheTableHas) {
  PlanReport r = thirty_days();
  r.wish.by = *parse_utc("2027-01-16T00:00:00Z");
  const std::string json = render_json_line(plan_value(r));
  for (const char* part : {R"("gpus":64)", R"("tensor":8)", R"("step_s":2)", R"("high_s":2.4)", R"("bubble":0.5)", R"("days":30)",
                           R"("by":"2027-01-16")", R"("late":true)"}) {
    EXPECT_NE(json.find(part), std::string::npos) << part << " in " << json;
  }
}

TEST(PlanReport, JsonSaysWhyAndWhatMemoryMayBeUsed) {
  PlanReport r = thirty_days();
  r.hbm_gb = 80;
  r.memory_limit_gb = 75.2;
  const std::string json = render_json_line(plan_value(r));
  for (const char* part : {R"("words":"TP 8)", R"("why":["best: TP 8)", R"("hbm_gb":80)", R"("memory_limit_gb":75.2)",
                           R"("says":["1e+12 tokens: 30.0 days)"}) {
    EXPECT_NE(json.find(part), std::string::npos) << part << " in " << json;
  }
}

TEST(PlanReport, TheChartHasEachPartThatCanBeSeen) {
  const std::string svg = render_svg(plan_bars(thirty_days()));
  EXPECT_NE(svg.find("a&lt;b&gt; on 64 h100"), std::string::npos);
  EXPECT_NE(svg.find("computing layers: 1.5 s"), std::string::npos) << svg;
  EXPECT_NE(svg.find("stages that wait for the pipeline"), std::string::npos);
  EXPECT_EQ(svg.find("optimizer"), std::string::npos) << "no bar has it";
}

}  // namespace
}  // namespace muster::report
