// Line charts: in a terminal, as rows of blocks, and as SVG. Panels stand one above the other and share the horizontal axis.
#pragma once
#include <string>
#include <vector>

namespace muster::report {

struct Line {
  std::string name;
  std::vector<double> values;  // evenly spaced, from the axis' begin to its end; NaN: a gap
};

struct Panel {
  std::string title;  // with the unit: "GPUs in use"
  double max = 0;     // 0: the largest value, rounded up to a number one likes to read
  std::vector<Line> lines;
  bool peaks = false;  // where many values share a column: their largest instead of their mean
};

struct Chart {
  std::string title;
  std::string begin, end;            // labels of the horizontal axis
  std::vector<std::string> between;  // further ones, evenly spaced
  std::vector<Panel> panels;
};

struct TerminalStyle {
  std::size_t width = 80;  // columns in all
  std::size_t height = 6;  // rows of a panel
  bool unicode = true;     // false: plain ASCII
};

// Each line of a panel is drawn for itself, as a filled area; a column shows the mean or the peak of its values. Names are made
// printable.
std::string render_terminal(const Chart& chart, const TerminalStyle& style);
// A document of its own, readable on white and on black.
std::string render_svg(const Chart& chart);

}  // namespace muster::report
