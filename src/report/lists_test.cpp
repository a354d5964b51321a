#include "report/lists.h"

#include <gtest/gtest.h>

#include "base/time.h"
#include "ingest/json.h"
#include "report/describe.h"
#include "report/units.h"

namespace muster::report {
namespace {

Value json(std::string_view text) {
  auto v = parse_json(text);
  EXPECT_TRUE(v) << text;
  return v ? *v : Value();
}

const Page kPage{.now = parse_utc("2026-01-01T01:00:00Z")};

TEST(Units, UtcReadsBackWhatTimeRenders) {
  for (const std::int64_t ns : {0LL, 1'767'225'600'000'000'000LL, 1'767'225'600'123'000'000LL, -86'400'000'000'000LL}) {
    ASSERT_EQ(parse_utc(render_utc(Time{ns})), Time{ns}) << render_utc(Time{ns});
  }
  for (const auto* bad :
       {"", "2026-01-01", "2026-13-01T00:00:00Z", "2026-01-01T00:00:00", "2026-01-01T00:00:00.Z", "x026-01-01T00:00:00Z",
        "2026-02-30T00:00:00Z", "2025-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2026-04-31T00:00:00Z", "2026-00-10T00:00:00Z"}) {
    EXPECT_FALSE(parse_utc(bad)) << bad;
  }
}

TEST(Units, TheLastDayOfFebruaryIsOneInLeapYears) {
  EXPECT_TRUE(parse_utc("2028-02-29T00:00:00Z"));
  EXPECT_TRUE(parse_utc("2000-02-29T00:00:00Z"));
  EXPECT_TRUE(parse_utc("2026-02-28T00:00:00Z"));
}

TEST(Units, NumbersForPeople) {
  EXPECT_EQ(render_money(2084.4, "USD"), "2,084 USD");
  EXPECT_EQ(render_money(12.5, "EUR"), "12.50 EUR");
  EXPECT_EQ(counted(1, "block"), "1 block");
  EXPECT_EQ(counted(1024, "day"), "1,024 days");
  EXPECT_EQ(render_count(1048576), "1,048,576");
  EXPECT_EQ(render_count(-1000), "-1,000");
  EXPECT_EQ(render_count(7), "7");
  EXPECT_EQ(render_decimal(1234.56, 1), "1,234.6");
  EXPECT_EQ(render_decimal(-0.04, 1), "0.0");
  EXPECT_EQ(render_percent(0.123), "12.3 %");
  EXPECT_EQ(render_percent(std::nullopt), "-");
  EXPECT_EQ(render_ago(Time{0}, Time{} + minutes(3)), "3m ago");
  EXPECT_EQ(render_ago(Time{} + minutes(3), Time{0}), "in 3m");
  EXPECT_EQ(render_span(seconds(45)), "45s");
  EXPECT_EQ(render_span(hours(49) + minutes(5)), "2d 1h");
  EXPECT_EQ(render_span(seconds(-61)), "-1m 1s");
}

TEST(Lists, ANodeIsOneLine) {
  const auto items = json(
      R"([{"id":0,"name":"node001","rack":"r01","leaf":0,"pod":0,"domain":0,"state":"busy","condition":"up","hold":"none",
    "hold_reason":"","job":"17","incident":0,"incidents":1,"swaps":0,"changed_utc":"2026-01-01T00:56:00Z",
    "gpus":[{"slot":0,"state":"busy","temp_c":61,"power_w":650,"util_pct":99,"sm_clock_mhz":1980},
            {"slot":1,"state":"busy","temp_c":-1,"power_w":null}]}])");
  const auto t = list_table(Noun::nodes, *items.array(), kPage.now);
  EXPECT_EQ(render_table(t, {}),
            "NAME     STATE  JOB  INCIDENT  RACK  LEAF  GPUS  MAX C   KW  SINCE\n"
            "node001  busy   17          -  r01      0     2     61  0.7  4m\n");
  EXPECT_EQ(name_of(Noun::nodes, (*items.array())[0]), "node001");
  const auto text = describe(Noun::nodes, (*items.array())[0], kPage);
  EXPECT_NE(text.find("State:        busy\n"), std::string::npos) << text;
  EXPECT_NE(text.find("(4m ago)"), std::string::npos) << text;
}

TEST(Lists, MissingMembersAreDashesNotErrors) {
  const auto items = json(R"([{}, {"id":"x","nodes":"nonsense","evidence":{},"progress":"y"}])");
  for (const auto noun : {Noun::nodes, Noun::gpus, Noun::jobs, Noun::findings, Noun::incidents, Noun::actions, Noun::leaves,
                          Noun::links}) {
    const auto t = list_table(noun, *items.array(), std::nullopt);
    ASSERT_EQ(t.rows.size(), 2U);
    for (const auto& row : t.rows) ASSERT_EQ(row.size(), t.columns.size());
    EXPECT_FALSE(render_table(t, {.wide = true}).empty());
    EXPECT_FALSE(render_csv(t, true).empty());
    for (const auto& item : *items.array()) EXPECT_EQ(describe(noun, item, kPage).find('\0'), std::string::npos);
  }
}

TEST(Lists, AJobShowsItsNodesAsAList) {
  const auto items = json(
      R"([{"id":17,"name":"train","phase":"running","nodes_wanted":3,"gpus":24,"nodes":["n01","n02","n03"],"progress":0.5,
    "submitted_utc":"2026-01-01T00:00:00Z","started_utc":"2026-01-01T00:30:00Z","restarts":2,
    "placement":{"leaves":1,"leaves_min":1,"why":"fits"}}])");
  const auto text = render_table(list_table(Noun::jobs, *items.array(), kPage.now), {.wide = true});
  EXPECT_NE(text.find("n[01-03]"), std::string::npos) << text;
  EXPECT_NE(text.find("50.0 %"), std::string::npos) << text;
  EXPECT_NE(text.find("30m"), std::string::npos) << text;
}

TEST(Lists, WhatIsAboutNoNodeHasNoGpuAndAPercentageIsNoXid) {
  const auto finding = json(
      R"([{"id":3,"kind":"fabric_fault","severity":"warning","node":"","gpu_slot":1,"code":95,"confidence":0.95,
    "subject":"missing_cable leaf1[17] - spine0[3]","where":{"words":"leaf switch 1"}}])");
  const auto csv = render_csv(list_table(Noun::findings, *finding.array(), kPage.now), true);
  EXPECT_NE(csv.find("3,fabric_fault,warning,,,,,0,"), std::string::npos) << csv;
  const auto text = render_table(list_table(Noun::findings, *finding.array(), kPage.now), {});
  EXPECT_NE(text.find("leaf switch 1"), std::string::npos) << text;
  EXPECT_NE(text.find("missing_cable leaf1[17] - spine0[3]"), std::string::npos) << text;
  const auto incident = json(
      R"([{"id":9,"cause":"fabric_fault","stage":"watching","node":"","gpu_slot":1,"code":95,
    "subject":"missing_cable leaf1[17] - spine0[3]","where":{"words":"leaf switch 1"}}])");
  const auto row = render_table(list_table(Noun::incidents, *incident.array(), kPage.now), {.wide = true});
  EXPECT_NE(row.find("missing_cable leaf1[17] - spine0[3]"), std::string::npos) << row;
  EXPECT_NE(row.find("leaf switch 1"), std::string::npos) << row;
  EXPECT_EQ(row.find("95"), std::string::npos) << row;
}

TEST(Describe, AnIncidentTellsEvidenceThenActionThenCourse) {
  const auto item = json(
      R"({"id":7,"node":"node017","gpu_slot":3,"cause":"gpu_lost","code":79,"stage":"repairing",
    "opened_utc":"2026-01-01T00:50:00Z",
    "findings":[{"id":4,"kind":"gpu_lost","severity":"critical","node":"node017","gpu_slot":3,"code":79,
                 "evidence":[{"witness":"kernel_log","at_utc":"2026-01-01T00:50:00Z","ref":"kmsg:1/2","text":"Xid 79"}]}],
    "actions":[{"verb":"drain_node","node":"node017","status":"done",
                "intended_utc":"2026-01-01T00:50:01Z","sentence":"GPU 3 is lost."}],
    "notes":[{"at_utc":"2026-01-01T00:51:00Z","text":"reset ordered"}]})");
  const auto text = describe(Noun::incidents, item, kPage);
  const auto evidence = text.find("kernel_log");
  const auto done = text.find("drain_node");
  const auto course = text.find("reset ordered");
  ASSERT_NE(course, std::string::npos) << text;
  EXPECT_LT(evidence, done);
  EXPECT_LT(done, course);
  EXPECT_NE(text.find("node017, GPU 3"), std::string::npos) << text;
}

TEST(Explain, SentencesFirstThenWhatTheyRestOn) {
  const auto answer = json(R"({"title":"node017 is being repaired","kind":"node","sentences":["It lost a GPU.","\u001b[2Jx"],
    "evidence":["kernel record 12",{"witness":"scrape","at_utc":"2026-01-01T00:59:00Z","text":"7 of 8 GPUs"}],
    "rule":"recover/gpu_lost/drain","alternatives":["wait: the job is dead already"],
    "actions":[{"verb":"drain_node","node":"node017","status":"done","sentence":"because",
               "intended_utc":"2026-01-01T00:59:30Z"}]})");
  const auto text = render_explanation(answer, kPage);
  EXPECT_EQ(text.rfind("node017 is being repaired\n", 0), 0U) << text;
  EXPECT_NE(text.find("scrape, 2026-01-01T00:59:00Z (1m ago): 7 of 8 GPUs"), std::string::npos) << text;
  EXPECT_NE(text.find("recover/gpu_lost/drain"), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace muster::report
