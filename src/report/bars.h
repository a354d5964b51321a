// Bars that are made of parts, one below the other, as SVG.
#pragma once
#include <string>
#include <vector>

namespace muster::report {

struct Bar {
  std::string label;
  std::vector<double> parts;  // as many as there are names
  double low = 0, high = 0;   // of the whole bar; 0: not drawn
};

struct BarChart {
  std::string title;
  std::string unit;                // of the horizontal axis
  std::vector<std::string> names;  // of the parts; those that no bar has are left out
  std::vector<Bar> bars;
};

// A document of its own, readable on white and on black.
std::string render_svg(const BarChart& chart);

}  // namespace muster::report
