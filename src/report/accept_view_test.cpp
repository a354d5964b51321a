#include "report/accept_view.h"

#include <gtest/gtest.h>

#include "accept/sample.h"
#include "ingest/json.h"
#include "report/units.h"

namespace muster::report {
namespace {

using accept::kHostileName;
using accept::Verdict;

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

TEST(AcceptView, AFailStandsFirstWithItsPartEvidenceAndNextStep) {
  const auto [a, j] = accept::sample_failed();
  const std::string text = render_accept({a, j}, false);
  EXPECT_EQ(text.substr(0, text.find('\n')), accept_sentence({a, j}));
  EXPECT_TRUE(has(text, "FAIL GPU 3 (1650000000103), SMs (sweep): SM 17 computes wrongly"));
  EXPECT_TRUE(has(text, "evidence: unit fp32: 0x4a21f00c instead of 0x4a21f10c"));
  EXPECT_TRUE(has(text, "do: reset the GPU and test again"));
  EXPECT_LT(text.find("FAIL GPU 3"), text.find("DEGRADED GPU 5"));
  EXPECT_TRUE(has(text, "(ecc_corrected): 0 to 14 (+14)"));
  EXPECT_TRUE(has(text, "Xid 94: NVRM"));
  EXPECT_TRUE(has(text, "suite 1 (" + a.suite.hash + ")"));
}

TEST(AcceptView, TestsThatDidNotEndWellAreListedAndOthersOnlyWhenAskedFor) {
  Acceptance a = accept::sample_node();
  for (auto& r : a.ran) {
    if (r.gpu == 6 && r.test == AcceptTest::gemm_fp8) r.state = TestState::could_not_run, r.why = "out of memory";
  }
  std::erase_if(a.ran, [](const auto& r) { return r.gpu == 7 && r.test == AcceptTest::pulse; });
  const AcceptedNode node{a, accept::sample_pass(a)};
  const std::string text = render_accept(node, false);
  EXPECT_TRUE(has(text, "tests that did not end well"));
  EXPECT_TRUE(has(text, "could not run"));
  EXPECT_TRUE(has(text, "out of memory"));
  EXPECT_TRUE(has(text, "did not run"));
  EXPECT_FALSE(has(text, "gemm_tf32"));
  EXPECT_TRUE(has(render_accept(node, false, true), "gemm_tf32"));
}

TEST(AcceptView, WithAFleetTheKeyFiguresHaveTheirPercentile) {
  const std::vector<Acceptance> fleet = accept::sample_fleet(20);
  const accept::Limits limits(fleet);
  const Acceptance a = accept::sample_node();
  const accept::Judgement j = accept::sample_pass(a);
  EXPECT_TRUE(has(render_accept({a, j, &limits}, false), "p43: 43 % of its kind"));
  const std::string alone = render_accept({a, j}, false);
  EXPECT_TRUE(has(alone, "MEMORY READ GB/s"));
  EXPECT_FALSE(has(alone, "% of its kind")) << "without a fleet nobody knows where it stands";
}

TEST(AcceptView, NamesStayText) {
  Acceptance a = accept::sample_node();
  a.host.name = a.host.driver = a.gpus[0].serial = kHostileName;
  a.kernel.push_back({0, 0, 1, std::string(kHostileName)});
  accept::Judgement j = accept::sample_pass(a);
  accept::add_trouble(j, {0,
                          Verdict::fail,
                          accept::Class::memory,
                          accept::Part::memory,
                          AcceptTest::march,
                          std::string(kHostileName),
                          std::string(kHostileName),
                          std::string(kHostileName),
                          "",
                          0,
                          0,
                          {}});
  j.notes.emplace_back(kHostileName);
  const AcceptedNode node{a, j};
  EXPECT_EQ(render_accept(node, false).find('\x1b'), std::string::npos);
  const auto json = parse_json(accept_json(node));
  ASSERT_TRUE(json);
  EXPECT_EQ(text_of(*json, "node"), kHostileName);
}

TEST(AcceptView, ProgramsGetVerdictFiguresTestsCountersAndWords) {
  const std::vector<Acceptance> fleet = accept::sample_fleet(20);
  const accept::Limits limits(fleet);
  const auto [a, j] = accept::sample_failed();
  const auto json = parse_json(accept_json({a, j, &limits}));
  ASSERT_TRUE(json);
  EXPECT_EQ(text_of(*json, "verdict"), "FAIL");
  EXPECT_EQ(text_of(*json, "sentence"), accept_sentence({a, j}));
  EXPECT_EQ(text_of(*json->find("suite"), "hash"), a.suite.hash);
  const auto& gpus = list_of(*json, "gpus");
  ASSERT_EQ(gpus.size(), 8U);
  EXPECT_EQ(text_of(gpus[3], "verdict"), "FAIL");
  EXPECT_EQ(text_of(gpus[0], "verdict"), "PASS");
  EXPECT_EQ(list_of(gpus[0], "tests").size(), a.suite.tests.size());
  bool percentile = false, grown = false;
  for (const Value& f : list_of(gpus[5], "figures")) {
    if (text_of(f, "metric") == "hbm_read") percentile = number_of(f, "percentile") == 0;
  }
  for (const Value& c : list_of(gpus[5], "counters"))
    grown |= text_of(c, "name") == "ecc_corrected" && number_of(c, "grew") == 14;
  EXPECT_TRUE(percentile);
  EXPECT_TRUE(grown);
  const auto& troubles = list_of(*json, "troubles");
  ASSERT_EQ(troubles.size(), 2U);
  EXPECT_EQ(text_of(troubles[0], "class"), "wrong_results");
  EXPECT_EQ(text_of(troubles[1], "basis"), "fleet");
  EXPECT_EQ(list_of(*json, "kernel").size(), 1U);
  EXPECT_EQ(list_of(*json, "wrong").size(), 2U);
}

TEST(AcceptView, InTheJsonATestThatNeverBeganIsSaidToHaveNotRun) {
  Acceptance a = accept::sample_node(1, 1, 0);
  std::erase_if(a.ran, [](const auto& r) { return r.test == AcceptTest::march_hot; });
  const auto json = parse_json(accept_json({a, accept::sample_pass(a)}));
  ASSERT_TRUE(json);
  std::string state;
  for (const Value& t : list_of(list_of(*json, "gpus")[0], "tests")) {
    if (text_of(t, "test") == "march_hot") state = text_of(t, "state");
  }
  EXPECT_EQ(state, "did_not_run");
}

TEST(AcceptView, AnEmptyRecordingSaysSoAndIsNoPass) {
  const Acceptance a;
  const accept::Judgement j = accept::judge(a, accept::Limits({}));
  const std::string text = render_accept({a, j}, false);
  EXPECT_TRUE(text.starts_with("COULD NOT RUN")) << text;
  EXPECT_TRUE(has(text, kNothing));
  EXPECT_TRUE(parse_json(accept_json({a, j})));
}

TEST(AcceptView, WhatRunsOnUnderLoadIsNotToldAsGrowth) {
  Acceptance a = accept::sample_node(1, 1, 0);
  a.counters = {{0, "ecc_corrected", 0, 0}, {0, "energy_j", 21'728, 39'387}, {0, "power_violation_s", 26.22, 50.53}};
  EXPECT_TRUE(has(render_accept({a, accept::sample_pass(a)}, false), "no counter grew (1 were read)"));
  a.counters.push_back({0, "thermal_violation_s", 0, 3});
  const std::string text = render_accept({a, accept::sample_pass(a)}, false);
  EXPECT_TRUE(has(text, "held back by heat, s (thermal_violation_s): 0 to 3 (+3)")) << text;
  EXPECT_FALSE(has(text, "energy_j"));
}

}  // namespace
}  // namespace muster::report
