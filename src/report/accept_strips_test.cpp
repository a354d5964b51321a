#include "report/accept_strips.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "accept/sample.h"

namespace muster::report {
namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

std::string drawn(const Acceptance& a) {
  const accept::Judgement j = accept::sample_pass(a);
  return draw_strips({a, j}, rows_of({a, j}));
}

TEST(AcceptStrips, ASpikeOfOneReadingIsSeenThoughManyShareAColumn) {
  Acceptance a = accept::sample_node(1, 1, 0);
  a.end[0].at_s = 100;
  for (int i = 0; i < 10'000; ++i) a.readings.push_back({0, i * 0.01, i == 5000 ? 963.0 : 690.0, 1480, 60, 52, 4});
  const std::string svg = drawn(a);
  EXPECT_TRUE(has(svg, "highest 963 W"));
  EXPECT_TRUE(has(svg, "power span"));
}

TEST(AcceptStrips, AStretchWithoutReadingsIsLeftOpen) {
  Acceptance a = accept::sample_node(1, 1, 0);
  a.end[0].at_s = 100;
  for (int i = 0; i < 1000; ++i) {
    if (i < 400 || i > 600) a.readings.push_back({0, i * 0.1, 690, 1480, 60, 52, 4});
  }
  const std::string svg = drawn(a);
  const auto at = svg.find("class=\"clock line\" d=\"");
  ASSERT_NE(at, std::string::npos);
  const std::string path = svg.substr(at + 22, svg.find("\"/>", at) - at - 22);
  EXPECT_EQ(std::count(path.begin(), path.end(), 'M'), 2);
}

TEST(AcceptStrips, WhatADriverDoesNotTellIsNotDrawnAsZero) {
  Acceptance a = accept::sample_node(1, 1, 0);
  for (int i = 0; i < 100; ++i) a.readings.push_back({0, i * 0.3, 690, -1, 60, -1, 0});
  const std::string svg = drawn(a);
  EXPECT_TRUE(has(svg, "not told"));
  EXPECT_FALSE(has(svg, "clock line"));
  EXPECT_FALSE(has(svg, "heat2 line"));
}

TEST(AcceptStrips, NonsenseIsNotDrawn) {
  Acceptance a = accept::sample_node(1, 1, 0);
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  a.readings = {
      {0, nan, 690, 1480, 60, 52, 0}, {0, 1, inf, nan, 60, 52, 0}, {0, -5, 690, 1480, 60, 52, 0}, {0, 1e300, 690, 1, 1, 1, 0}};
  const std::string svg = drawn(a);
  EXPECT_FALSE(has(svg, "nan"));
  EXPECT_FALSE(has(svg, "inf\"")) << svg;
}

TEST(AcceptStrips, TheRoundsOfADayAreCountedInsteadOfDrawn) {
  Acceptance a = accept::sample_node(1, 1, 0);
  a.end[0].at_s = 86'400;
  for (int i = 0; i < 1440; ++i) {
    a.ran.push_back({0, AcceptTest::gemm_bf16, 0, TestState::done, "", 60.0 * i, 30});
    a.readings.push_back({0, 60.0 * i, 690, 1480, 60, 52, 4});
  }
  const std::string svg = drawn(a);
  EXPECT_TRUE(has(svg, "rounds of tests, too many to draw"));
  EXPECT_FALSE(has(svg, "class=\"band"));
  EXPECT_TRUE(has(svg, "0 h")) << "the axis counts hours";
}

TEST(AcceptStrips, WithoutReadingsThereIsNothing) { EXPECT_EQ(drawn(accept::sample_node(1, 1, 0)), ""); }

TEST(AcceptStrips, TheNumberOfAShortTestDoesNotRunIntoTheNextName) {
  Acceptance a = accept::sample_node(1, 1, 0);
  a.end[0].at_s = 28.6;
  a.ran = {{0, AcceptTest::sweep, 0, TestState::done, "", 1.5, 0.2}, {0, AcceptTest::hbm, 0, TestState::done, "", 1.7, 1.1}};
  a.readings = {{0, 1, 690, 1480, 60, 52, 4}, {0, 2, 690, 1480, 60, 52, 4}};
  const std::string svg = drawn(a);
  EXPECT_TRUE(has(svg, "<title>sweep: 1.5 s to 1.7 s, done</title>"));
  EXPECT_TRUE(has(svg, " hbm</text>"));
  EXPECT_FALSE(has(svg, ">3</text>")) << "there is no room for it";
}

}  // namespace
}  // namespace muster::report
