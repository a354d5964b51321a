#include "report/accept_page.h"

#include <gtest/gtest.h>

#include "accept/sample.h"

namespace muster::report {
namespace {

using accept::kHostileName;
using accept::Verdict;

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t n = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) ++n;
  return n;
}

// The part of a page from one heading to the next.
std::string section(const std::string& page, std::string_view id) {
  const auto at = page.find("id=\"" + std::string(id) + "\"");
  return at == page.npos ? "" : page.substr(at, page.find("</section>", at) - at);
}

TEST(AcceptPage, AFailStandsFirstAndLarge) {
  const auto [a, j] = accept::sample_failed();
  const std::string page = accept_page({a, j});
  EXPECT_TRUE(has(page, "<span class=\"v big fail\">✗ FAIL</span>"));
  EXPECT_TRUE(has(page, "<h1>gpu0001: GPU 3 (1650000000103): SM 17 computes wrongly"));
  const std::string troubles = section(page, "troubles");
  EXPECT_LT(troubles.find("GPU 3"), troubles.find("GPU 5"));
  for (const char* words : {"<dt>part</dt><dd>SMs", "<dt>evidence</dt><dd>unit fp32", "<dt>next step</dt><dd>reset the GPU"})
    EXPECT_TRUE(has(troubles, words)) << words;
}

TEST(AcceptPage, EverythingThatWasPromisedIsOnIt) {
  const std::vector<Acceptance> fleet = accept::sample_fleet(10);
  const accept::Limits limits(fleet);
  auto [a, j] = accept::sample_failed();
  GpuModel sheet;
  sheet.hbm_tb_s = 4.8;
  sheet.source = "a data sheet";
  const std::string page = accept_page({a, j, &limits, &sheet});
  EXPECT_TRUE(has(page, "1, hash " + a.suite.hash));
  for (const AcceptTest t : a.suite.tests) EXPECT_TRUE(has(section(page, "tests"), name_of(t))) << name_of(t);
  EXPECT_TRUE(has(section(page, "figures"), "memory read"));
  EXPECT_TRUE(has(section(page, "figures"), "<small>p"));
  EXPECT_TRUE(has(section(page, "figures"), "sheet 9"));
  EXPECT_TRUE(has(section(page, "figures"), "80 GPUs"));
  EXPECT_TRUE(has(section(page, "counters"), "0 to 14 (+14)"));
  EXPECT_TRUE(has(section(page, "counters"), "not told"));
  EXPECT_TRUE(has(section(page, "kernel"), "NVRM: Xid"));
  EXPECT_TRUE(has(section(page, "wrong"), "SM 17"));
  EXPECT_TRUE(has(section(page, "notes"), "sram_exceeded"));
  EXPECT_TRUE(has(section(page, "raw"), "gpu,at_s,power_w,sm_mhz"));
  EXPECT_TRUE(has(section(page, "raw"), "hbm_read"));
  EXPECT_TRUE(has(section(page, "raw"), a.file));
}

TEST(AcceptPage, EachGpuHasAStripWithPowerClockAndHeatForWideAndNarrowScreens) {
  const Acceptance a = accept::sample_node();
  const std::string time = section(accept_page({a, accept::sample_pass(a)}), "time");
  for (int g = 0; g < 8; ++g) {
    EXPECT_EQ(count(time, "id=\"strip" + std::to_string(g) + "\""), 1U);
    EXPECT_EQ(count(time, "id=\"strip" + std::to_string(g) + "_narrow\""), 1U);
  }
  EXPECT_EQ(count(time, "class=\"power line\""), 16U);
  EXPECT_EQ(count(time, "class=\"clock line\""), 16U);
  EXPECT_EQ(count(time, "class=\"heat2 line\""), 16U);
  EXPECT_EQ(count(time, "<title>march: "), 16U) << "tests are bands";
  EXPECT_TRUE(has(time, "limit 700 W"));
}

TEST(AcceptPage, NamesStayTextAndNothingIsAskedOfAnyNetwork) {
  auto [a, j] = accept::sample_failed();
  const std::string name(kHostileName);
  a.file = a.host.name = a.host.driver = a.host.kernel = a.host.cooling = a.suite.version = a.suite.hash = name;
  for (auto& g : a.gpus) g.serial = g.model = g.uuid = g.pci = g.vbios = g.part = name;
  for (auto& m : a.measured) m.metric += name;
  for (auto& r : a.ran) r.why = name;
  for (auto& c : a.counters) c.name = name + c.name;
  for (auto& w : a.wrong) w.place = w.detail = name;
  for (auto& k : a.kernel) k.text = name;
  j.notes = {name};
  for (auto& g : j.gpus) {
    for (auto& t : g.troubles) t.what = t.evidence = t.next = t.metric = name;
  }
  const std::string page = accept_page({a, j});
  EXPECT_FALSE(has(page, "<script"));
  EXPECT_TRUE(has(page, "&lt;script&gt;"));
  EXPECT_EQ(page.find('\x1b'), std::string::npos);
  for (const char* request : {"http://", "https://", "src=", "@import", "url("}) EXPECT_FALSE(has(page, request)) << request;
}

TEST(AcceptPage, ATestThatDidNotRunHasNoMarkOfAPass) {
  Acceptance a = accept::sample_node(1, 1, 0);
  for (auto& r : a.ran) {
    if (r.test == AcceptTest::hbm) r.state = TestState::could_not_run, r.why = "no room";
  }
  std::erase_if(a.ran, [](const auto& r) { return r.test == AcceptTest::march; });
  const std::string tests = section(accept_page({a, accept::sample_pass(a)}), "tests");
  const auto row = [&](std::string_view name) {
    const auto at = tests.find(" " + std::string(name) + "<small>");
    return tests.substr(at, tests.find("</tr>", at) - at);
  };
  EXPECT_TRUE(has(row("link"), "✓"));
  EXPECT_FALSE(has(row("hbm"), "✓"));
  EXPECT_TRUE(has(row("hbm"), "could not run<"));
  EXPECT_TRUE(has(row("hbm"), "no room"));
  EXPECT_FALSE(has(row("march"), "✓"));
  EXPECT_TRUE(has(row("march"), "did not run"));
  EXPECT_TRUE(has(row("peers"), "n/a"));
  EXPECT_FALSE(has(row("peers"), "✓"));
}

TEST(AcceptPage, ATestWithATroubleOrAWrongResultHasNoMarkOfAPass) {
  auto [a, j] = accept::sample_failed();
  a.wrong.push_back({2, AcceptTest::march, 0, "address 0x40", 1, "bit 3"});  // and nobody judged it
  const std::string tests = section(accept_page({a, j}), "tests");
  const auto row = [&](std::string_view name) {
    const auto at = tests.find(" " + std::string(name) + "<small>");
    return tests.substr(at, tests.find("</tr>", at) - at);
  };
  EXPECT_EQ(count(row("sweep"), "✓"), 7U);
  EXPECT_EQ(count(row("hbm"), "✓"), 7U);
  EXPECT_EQ(count(row("march"), "✓"), 7U);
  EXPECT_TRUE(has(row("march"), "1 wrong"));
}

TEST(AcceptPage, AnEmptyRecordingIsAPageThatSaysSo) {
  const Acceptance a;
  const accept::Judgement j = accept::judge(a, accept::Limits({}));
  const std::string page = accept_page({a, j});
  EXPECT_TRUE(has(page, kNothing));
  EXPECT_FALSE(has(page, "✓ PASS"));
  EXPECT_TRUE(has(page, "No power, clock or temperature was recorded."));
}

TEST(AcceptPage, WhatWasCutOffOrStoppedIsSaid) {
  Acceptance a = accept::sample_node(1, 1, 0);
  a.end[0].stopped = true;
  EXPECT_TRUE(has(accept_page({a, accept::sample_pass(a)}), "A person stopped the tests"));
  a.end.clear();
  EXPECT_TRUE(has(accept_page({a, accept::sample_pass(a)}), "The recording was cut off"));
}

TEST(AcceptPage, AWeekOfReadingsIsThinnedAndEveryGpuKeepsItsOwn) {
  Acceptance a = accept::sample_node(1, 2, 0);
  a.end[0].at_s = 600'000;
  for (int i = 0; i < 150'000; ++i) {
    for (std::int32_t g = 0; g < 2; ++g) a.readings.push_back({g, 4.0 * i, 690.0 + g, 1480, 60, 52, 4});
  }
  const std::string page = accept_page({a, accept::sample_pass(a)});
  EXPECT_LT(page.size(), 4'000'000U);
  EXPECT_TRUE(has(page, "one of 8 is here, all are in the recording"));
  EXPECT_GT(count(page, "\n0,"), 10'000U);
  EXPECT_GT(count(page, "\n1,"), 10'000U);
}

TEST(AcceptPage, WhatRunsOnUnderLoadIsNotInTheColourOfTrouble) {
  Acceptance a = accept::sample_node(1, 1, 0);
  a.counters.push_back({0, "energy_j", 21'728, 39'387});
  a.counters.push_back({0, "power_violation_s", 26.22, 50.53});
  std::string counters = section(accept_page({a, accept::sample_pass(a)}), "counters");
  EXPECT_TRUE(has(counters, "energy, J<small>energy_j"));
  EXPECT_TRUE(has(counters, "21,728 to 39,387 (+17,659)"));
  EXPECT_FALSE(has(counters, "class=\"short\""));
  a.counters.push_back({0, "thermal_violation_s", 0, 3});
  counters = section(accept_page({a, accept::sample_pass(a)}), "counters");
  EXPECT_EQ(count(counters, "class=\"short\""), 1U);
}

TEST(AcceptPage, WhereNobodyKnowsHowFastItShouldBeThatIsSaidFirst) {
  const Acceptance a = accept::sample_node();
  const accept::Limits none({});
  const accept::Judgement j = accept::judge(a, none);
  const std::string page = accept_page({a, j, &none});
  EXPECT_TRUE(has(section(page, "verdict"), "; speed was not judged</h1>"));
  EXPECT_FALSE(has(section(page, "verdict"), "provisional"));
  EXPECT_TRUE(has(section(page, "figures"), "Too few GPUs of its kind are recorded"));
  EXPECT_FALSE(has(section(page, "figures"), "p43"));
}

TEST(AcceptPage, WhatIsNeverJudgedIsFoldedAndAnAlgorithmIsANameNotAFigure) {
  Acceptance a = accept::sample_node(1, 1, 0);
  a.measured.push_back({0, AcceptTest::gemm_bf16, 0, "gemm_bf16_algorithm", 6'625'012'345'678, 0, 0, -1});
  const std::string figures = section(accept_page({a, accept::sample_pass(a)}), "figures");
  const auto folded = figures.find("<details><summary>Recorded, and never judged (");
  ASSERT_NE(folded, figures.npos);
  EXPECT_GT(figures.find("<td class=\"n\">6625012345678</td>"), folded);
  EXPECT_NE(figures.find("6625012345678"), figures.npos);
}

}  // namespace
}  // namespace muster::report
