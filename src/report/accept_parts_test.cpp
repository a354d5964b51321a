#include "report/accept_parts.h"

#include <gtest/gtest.h>

#include "accept/sample.h"

namespace muster::report {
namespace {

using accept::Verdict;

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

const TestCell& cell(const AcceptRows& rows, AcceptTest test, std::size_t gpu) {
  for (const TestRow& r : rows.tests) {
    if (r.test == test) return r.cells.at(gpu);
  }
  static const TestCell none;
  return none;
}

TEST(AcceptParts, APassIsOneLineThatSaysHowMuchWasTested) {
  const Acceptance a = accept::sample_node();
  const std::string s = accept_sentence({a, accept::sample_pass(a)});
  EXPECT_TRUE(s.starts_with("PASS gpu0001: 8 GPUs, quick, ")) << s;
  EXPECT_TRUE(s.ends_with(" s")) << s;
}

TEST(AcceptParts, AFailNamesTheGpuWhatIsWrongAndHowMuchMoreThereIs) {
  const auto [a, j] = accept::sample_failed();
  EXPECT_EQ(accept_sentence({a, j}), "FAIL gpu0001: GPU 3 (1650000000103): SM 17 computes wrongly: 3 results differ; 1 more");
}

TEST(AcceptParts, WhyATestDidNotRunIsInTheSentence) {
  const Acceptance a = accept::sample_node();
  accept::Judgement j = accept::sample_pass(a);
  accept::add_trouble(j, {2,
                          Verdict::could_not_run,
                          accept::Class::not_run,
                          accept::Part::whole,
                          AcceptTest::gemm_fp8,
                          "gemm_fp8 could not run",
                          "out of memory",
                          "free it",
                          "",
                          0,
                          0,
                          {}});
  EXPECT_EQ(accept_sentence({a, j}), "COULD NOT RUN gpu0001: GPU 2 (1650000000102): gemm_fp8 could not run: out of memory");
}

TEST(AcceptParts, TheSentenceStaysOneLineOfASchedulersLengthWhateverTheNames) {
  Acceptance a = accept::sample_node();
  a.host.name = std::string(5000, 'n') + "\n";
  accept::Judgement j = accept::sample_pass(a);
  accept::add_trouble(j, {0,
                          Verdict::fail,
                          accept::Class::memory,
                          accept::Part::memory,
                          AcceptTest::march,
                          std::string(9000, 'x') + "\x1b[2J\n",
                          "",
                          "",
                          "",
                          0,
                          0,
                          {}});
  const std::string s = accept_sentence({a, j});
  EXPECT_LT(s.size(), 250U);
  EXPECT_EQ(s.find_first_of("\n\x1b"), std::string::npos);
  EXPECT_TRUE(has(s, "xxx")) << "a long name leaves room for the reason";
}

TEST(AcceptParts, ATestThatDidNotRunIsNeverDone) {
  Acceptance a = accept::sample_node();
  std::erase_if(a.ran, [](const auto& r) { return r.gpu == 1 && r.test == AcceptTest::march; });
  for (auto& r : a.ran) {
    if (r.gpu == 2 && r.test == AcceptTest::march) r.state = TestState::hung;
  }
  const AcceptRows rows = rows_of({a, accept::sample_pass(a)});
  EXPECT_EQ(state_words(cell(rows, AcceptTest::march, 0)), "done");
  EXPECT_EQ(state_words(cell(rows, AcceptTest::march, 1)), "did not run");
  EXPECT_EQ(state_words(cell(rows, AcceptTest::march, 2)), "hung");
  EXPECT_TRUE(cell(rows, AcceptTest::march, 1).asked);
}

TEST(AcceptParts, ARoundThatHungIsNotHiddenByOnesThatEnded) {
  Acceptance a = accept::sample_node();
  a.ran.push_back({0, AcceptTest::march, 1, TestState::hung, "no answer in 32 s", 40, 32});
  a.ran.push_back({0, AcceptTest::march, 2, TestState::done, "", 80, 1});
  const AcceptRows rows = rows_of({a, accept::sample_pass(a)});
  const TestCell& c = cell(rows, AcceptTest::march, 0);
  EXPECT_EQ(state_words(c), "done once, then hung");
  EXPECT_EQ(c.why, "no answer in 32 s");
  EXPECT_EQ(c.rounds, 3U);
}

TEST(AcceptParts, FiguresStandAmongTheirKind) {
  const std::vector<Acceptance> fleet = accept::sample_fleet(20);
  const accept::Limits limits(fleet);
  Acceptance a = accept::sample_node();
  for (auto& m : a.measured) {
    if (m.gpu == 4 && m.metric == "hbm_read") m.value = 4000;
  }
  GpuModel sheet;
  sheet.hbm_tb_s = 4.8;
  const AcceptRows rows = rows_of({a, accept::sample_pass(a), &limits, &sheet});
  for (const FigureRow& r : rows.figures) {
    if (r.name != "hbm_read") continue;
    EXPECT_EQ(r.count, 160U);
    EXPECT_EQ(r.cells[4]->percentile, 0);
    EXPECT_NEAR(r.cells[4]->of_median.value(), 4000 / 4693.0, 0.001);
    EXPECT_NEAR(r.cells[4]->of_sheet.value(), 4000 / 4800.0, 1e-9);
    EXPECT_GT(r.cells[0]->percentile.value(), 0);
    return;
  }
  FAIL() << "hbm_read is not among the figures";
}

TEST(AcceptParts, APercentileTurnsRoundWhereLessIsBetterAndIsNoneAmongAFew) {
  const std::vector<double> v = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(percentile_in(v, 8, accept::Better::higher, 8), 93.75);
  EXPECT_EQ(percentile_in(v, 8, accept::Better::lower, 8), 6.25);
  EXPECT_FALSE(percentile_in(v, 8, accept::Better::higher, 9));
  EXPECT_FALSE(percentile_in({5, 5, 5}, 5, accept::Better::higher, 1)) << "where all are alike, nobody stands anywhere";
  EXPECT_EQ(percentile_in({5, 5, 5}, 4, accept::Better::higher, 1), 0);
}

TEST(AcceptParts, TheSameTroubleOfSeveralGpusIsToldOnce) {
  const Acceptance a = accept::sample_node();
  accept::Judgement j = accept::sample_pass(a);
  for (const int gpu : {0, 1, 2}) {
    accept::add_trouble(j, {gpu,
                            Verdict::could_not_run,
                            accept::Class::not_run,
                            accept::Part::whole,
                            AcceptTest::march,
                            "march did not run",
                            "nothing of it",
                            "again",
                            "",
                            0,
                            0,
                            {}});
  }
  accept::add_trouble(j, {3,
                          Verdict::could_not_run,
                          accept::Class::not_run,
                          accept::Part::whole,
                          AcceptTest::march,
                          "march did not run",
                          "out of memory",
                          "again",
                          "",
                          0,
                          0,
                          {}});
  const auto groups = grouped(j);
  ASSERT_EQ(groups.size(), 2U) << "another evidence is another trouble";
  EXPECT_EQ(group_title(a, groups[0]), "GPUs 0, 1, 2");
  EXPECT_EQ(group_title(a, groups[1]), "GPU 3 (1650000000103)");
}

TEST(AcceptParts, ARecordingThatClaimsAnyNumberOfGpusIsShownInPart) {
  Acceptance a = accept::sample_node(1, 1, 0);
  for (std::int32_t g = 1; g < 5000; ++g) a.ran.push_back({g, AcceptTest::link, 0, TestState::done, "", 0, 1});
  const AcceptRows rows = rows_of({a, accept::sample_pass(a)});
  EXPECT_EQ(rows.gpus.size(), kGpusShown);
  EXPECT_EQ(rows.gpus_left_out, 5000 - kGpusShown);
}

TEST(AcceptParts, WhatGrewIsToldApartFromWhatStoodStillAndWhatIsNotTold) {
  EXPECT_EQ(growth_text({0, "x", 12, 15}), "12 to 15 (+3)");
  EXPECT_EQ(growth_text({0, "x", 12, 12}), "12");
  EXPECT_EQ(growth_text({0, "x", -1, -1}), "not told");
  EXPECT_EQ(growth_text({0, "x", 12, -1}), "12 to not told");
  EXPECT_FALSE(grew({0, "x", -1, 5})) << "nobody knows what it was before";
  EXPECT_TRUE(grew({0, "x", 9, 2})) << "it was set back";
}

TEST(AcceptParts, NumbersAreWrittenAsPeopleReadThem) {
  EXPECT_EQ(figure_text(4693.4), "4,693");
  EXPECT_EQ(figure_text(0.461), "0.4610");
  EXPECT_EQ(figure_text(132), "132");
  EXPECT_EQ(figure_text(132e9), "132e9");
  EXPECT_EQ(length_text(0.53), "0.53 s");
  EXPECT_EQ(length_text(41), "41 s");
  EXPECT_EQ(length_text(590), "9 min 50 s");
  EXPECT_EQ(length_text(86'400), "24.0 h");
  EXPECT_EQ(percentile_text(0.4), "p0.4");
  EXPECT_EQ(percentile_text(43.2), "p43");
}

}  // namespace
}  // namespace muster::report
