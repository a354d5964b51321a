#include "report/bars.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>

#include "report/svg.h"

namespace muster::report {
namespace {

constexpr double kWidth = 960, kLeft = 12, kRight = 24, kTop = 40, kBar = 22, kRow = 52, kAxis = 40, kLegend = 22;
// Eleven that people with colour-blind eyes can tell apart as far as that is possible (Okabe and Ito, and shades of them).
constexpr std::array<std::string_view, 11> kColours = {"#0072b2", "#56b4e9", "#d55e00", "#e69f00", "#cc79a7", "#f0e442",
                                                       "#009e73", "#999999", "#7a5195", "#8c564b", "#444444"};
constexpr int kMarks = 5;

double whole(const Bar& b) { return std::accumulate(b.parts.begin(), b.parts.end(), 0.0); }

}  // namespace

std::string render_svg(const BarChart& chart) {
  double most = 0;
  for (const Bar& b : chart.bars) most = std::max({most, whole(b), b.high});
  const double top = most > 0 ? rounded_up(most) : 1, scale = (kWidth - kLeft - kRight) / top;
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < chart.names.size(); ++i) {
    const auto seen = [&](const Bar& b) { return i < b.parts.size() && b.parts[i] * scale >= 0.5; };
    if (std::any_of(chart.bars.begin(), chart.bars.end(), seen)) shown.push_back(i);
  }
  constexpr std::size_t kColumns = 3;
  const double legend = static_cast<double>((shown.size() + kColumns - 1) / kColumns) * kLegend;
  const double axis = kTop + legend + static_cast<double>(chart.bars.size()) * kRow, height = axis + kAxis;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1:.0f}\" width=\"{0}\" height=\"{1:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
      "<text x=\"{2}\" y=\"22\" font-size=\"16\">{3}</text>\n",
      kWidth, height, kLeft, escape(chart.title));
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const double x = kLeft + static_cast<double>(i % kColumns) * (kWidth - kLeft - kRight) / kColumns;
    const double y = kTop + static_cast<double>(i / kColumns) * kLegend;
    out += fmt::format("<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"12\" height=\"12\" fill=\"{}\"/>", x, y,
                       kColours[shown[i] % kColours.size()]);
    out += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\">{}</text>\n", x + 18, y + 11, escape(chart.names[shown[i]]));
  }
  for (int i = 0; i <= kMarks; ++i) {
    const double x = kLeft + scale * top * i / kMarks;
    out += fmt::format("<path d=\"M{:.1f} {:.0f}V{:.0f}\" stroke=\"#ddd\"/>", x, kTop + legend, axis);
    out += fmt::format("<text x=\"{:.1f}\" y=\"{:.0f}\" text-anchor=\"{}\">{}{}</text>\n", x, axis + 18,
                       i == 0        ? "start"
                       : i == kMarks ? "end"
                                     : "middle",
                       short_number(top * i / kMarks), i == kMarks ? " " + escape(chart.unit) : "");
  }
  double y = kTop + legend + 18;
  for (const Bar& b : chart.bars) {
    out += fmt::format("<text x=\"{}\" y=\"{:.0f}\">{}</text>\n", kLeft, y - 4, escape(b.label));
    double x = kLeft;
    for (std::size_t i = 0; i < b.parts.size() && i < chart.names.size(); ++i) {
      if (b.parts[i] <= 0) continue;
      out += fmt::format(
          "<rect x=\"{:.2f}\" y=\"{:.0f}\" width=\"{:.2f}\" height=\"{}\" fill=\"{}\"><title>{}: {:.4g} {}</title></rect>\n", x,
          y, scale * b.parts[i], kBar, kColours[i % kColours.size()], escape(chart.names[i]), b.parts[i], escape(chart.unit));
      x += scale * b.parts[i];
    }
    if (b.high > 0) {
      const double from = kLeft + scale * b.low, to = kLeft + scale * b.high, mid = y + kBar / 2;
      out += fmt::format(
          "<path d=\"M{0:.1f} {2:.1f}H{1:.1f}M{0:.1f} {3:.1f}v8M{1:.1f} {3:.1f}v8\" stroke=\"#000\" fill=\"none\"/>\n", from, to,
          mid, mid - 4);
    }
    y += kRow;
  }
  return out + "</svg>\n";
}

}  // namespace muster::report
