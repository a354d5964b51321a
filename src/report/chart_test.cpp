#include "report/chart.h"

#include <gtest/gtest.h>

#include <cmath>

namespace muster::report {
namespace {

Chart ramp() {
  Chart c;
  c.title = "a <ramp>";
  c.begin = "day 0";
  c.end = "day 9";
  Panel p;
  p.title = "jobs";
  p.lines.push_back({"easy", {0, 1, 2, 3, 4, 5, 6, 7, 8}});
  c.panels.push_back(p);
  return c;
}

TEST(Chart, PlainTextWithoutATerminalIsAscii) {
  const std::string text = render_terminal(ramp(), {60, 4, false});
  for (const char c : text) EXPECT_GE(c, 0) << text;
  EXPECT_NE(text.find("jobs, easy"), std::string::npos);
  EXPECT_NE(text.find("day 9"), std::string::npos);
}

TEST(Chart, TheLargestValueFillsItsColumnAndNoLineIsTooWide) {
  const std::string text = render_terminal(ramp(), {60, 4, false});
  std::size_t begin = 0;
  int full = 0;
  while (begin < text.size()) {
    const std::size_t end = text.find('\n', begin);
    EXPECT_LE(end - begin, 60U);
    full += text.substr(begin, end - begin).find('#') != std::string::npos ? 1 : 0;
    begin = end + 1;
  }
  EXPECT_EQ(full, 4);
}

TEST(Chart, SvgEscapesWordsAndBreaksLinesAtGaps) {
  Chart c = ramp();
  c.panels[0].lines[0].values = {1, 2, std::nan(""), 3, 4};
  const std::string svg = render_svg(c);
  EXPECT_NE(svg.find("a &lt;ramp&gt;"), std::string::npos);
  std::size_t lines = 0;
  for (std::size_t at = svg.find("<polyline"); at != std::string::npos; at = svg.find("<polyline", at + 1)) ++lines;
  EXPECT_EQ(lines, 2U);
}

TEST(Chart, APeakIsSeenAmongManyValuesAndTheScaleIsRound) {
  Chart c;
  Panel p{"queued", 0, {{"", std::vector<double>(2000, 0)}}};
  p.lines[0].values[777] = 478.2;
  p.peaks = true;
  c.panels.push_back(p);
  const std::string text = render_terminal(c, {60, 4, false});
  EXPECT_NE(text.find("500 |"), std::string::npos) << text;
  EXPECT_NE(text.find('#'), std::string::npos) << text;  // the peak fills rows of its column
  EXPECT_NE(render_svg(c).find(">375<"), std::string::npos);
}

TEST(Chart, LabelsBetweenStandInOrderAndNeverTouch) {
  Chart c = ramp();
  c.between = {"day 3", "day 6"};
  const std::string text = render_terminal(c, {60, 4, false});
  const auto at = [&](const char* label) { return text.rfind(label); };
  EXPECT_TRUE(at("day 0") < at("day 3") && at("day 3") < at("day 6") && at("day 6") < at("day 9")) << text;
  c.between = {std::string(60, 'x')};
  EXPECT_EQ(render_terminal(c, {60, 4, false}).find("x"), std::string::npos);
}

TEST(Chart, NothingToShowIsStillAChart) {
  Chart c;
  c.panels.push_back({"empty", 0, {{"", {}}}});
  EXPECT_NE(render_terminal(c, {}).find("empty"), std::string::npos);
  EXPECT_NE(render_svg(c).find("</svg>"), std::string::npos);
}

}  // namespace
}  // namespace muster::report
