#include "report/chart.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/text.h"
#include "report/svg.h"

namespace muster::report {
namespace {

constexpr std::array<std::string_view, 9> kBlocks = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<std::string_view, 9> kAscii = {" ", ".", ".", ":", ":", "-", "=", "+", "#"};
constexpr std::array<std::string_view, 4> kColours = {"#1f77b4", "#d62728", "#2ca02c", "#9467bd"};

// Means (or peaks) over `columns` equal parts; NaN where there is nothing.
std::vector<double> squeeze(const std::vector<double>& values, std::size_t columns, bool peaks) {
  std::vector<double> out(columns, std::nan(""));
  for (std::size_t c = 0; c < columns && !values.empty(); ++c) {
    const std::size_t a = c * values.size() / columns;
    const std::size_t b = std::max(a + 1, (c + 1) * values.size() / columns);
    double sum = 0, most = 0;
    int n = 0;
    for (std::size_t i = a; i < b && i < values.size(); ++i) {
      if (!std::isfinite(values[i])) continue;
      sum += values[i];
      most = n == 0 ? values[i] : std::max(most, values[i]);
      ++n;
    }
    if (n > 0) out[c] = peaks ? most : sum / n;
  }
  return out;
}

// What the panel reaches up to, with so many columns.
double top_of(const Panel& p, std::size_t columns) {
  if (p.max > 0) return p.max;
  double top = 0;
  for (const Line& l : p.lines) {
    for (const double v : l.values.size() > columns ? squeeze(l.values, columns, p.peaks) : l.values) {
      if (std::isfinite(v)) top = std::max(top, v);
    }
  }
  return top > 0 ? rounded_up(top) : 1;
}

std::string area(const Line& line, double top, const TerminalStyle& style, std::size_t gutter, std::size_t columns, bool peaks) {
  const std::vector<double> values = squeeze(line.values, columns, peaks);
  const auto& blocks = style.unicode ? kBlocks : kAscii;
  std::string out;
  for (std::size_t row = style.height; row-- > 0;) {
    const std::string label = row + 1 == style.height ? short_number(top) : row == 0 ? "0" : "";
    std::string text = fmt::format("{:>{}} {}", label, gutter, style.unicode ? "│" : "|");
    std::string cells;
    for (const double v : values) {
      const double filled = std::isfinite(v) ? std::clamp(v / top, 0.0, 1.0) * static_cast<double>(style.height) : 0;
      const double part = std::clamp(filled - static_cast<double>(row), 0.0, 1.0);
      auto level = static_cast<std::size_t>(std::lround(part * 8));
      if (row == 0 && level == 0 && std::isfinite(v) && v > 0) level = 1;  // little is not nothing
      cells += blocks[level];
    }
    while (cells.ends_with(' ')) cells.pop_back();
    out += text + cells + "\n";
  }
  return out;
}

constexpr std::size_t kPoints = 4000;  // of a line; more are squeezed into as many
constexpr double kWidth = 960, kLeft = 70, kRight = 20, kTop = 44, kPanel = 190, kGap = 44;

// `under`: drawn broad and pale, so that it is seen where the next line runs along it.
std::string polyline(const Line& line, const Panel& panel, double top, double y0, std::string_view colour, bool under) {
  std::string out, points;
  const auto flush = [&] {
    if (!points.empty()) {
      out += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-linejoin=\"round\" {}/>\n", points, colour,
                         under ? "stroke-width=\"3\" stroke-opacity=\"0.45\"" : "stroke-width=\"1.2\"");
    }
    points.clear();
  };
  const std::vector<double> values = line.values.size() > kPoints ? squeeze(line.values, kPoints, panel.peaks) : line.values;
  const double n = std::max<double>(1, static_cast<double>(values.size()) - 1);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      flush();
      continue;
    }
    const double x = kLeft + (kWidth - kLeft - kRight) * static_cast<double>(i) / n;
    const double y = y0 + kPanel * (1 - std::clamp(values[i] / top, 0.0, 1.0));
    points += fmt::format("{}{:.1f},{:.1f}", points.empty() ? "" : " ", x, y);
  }
  flush();
  return out;
}

}  // namespace

namespace {

// Labels along a line of `columns` characters: the first at its beginning, the last at its end, others around their place. One
// that would touch its neighbour is left out.
std::string axis(const Chart& chart, std::size_t columns) {
  const std::string end = printable(chart.end);
  std::string out = printable(chart.begin);
  const std::size_t last = columns > end.size() ? columns - end.size() : 0;
  for (std::size_t i = 0; i < chart.between.size(); ++i) {
    const std::string label = printable(chart.between[i]);
    const std::size_t middle = columns * (i + 1) / (chart.between.size() + 1);
    const std::size_t at = middle - std::min(middle, label.size() / 2);
    if (at < out.size() + 2 || at + label.size() + 2 > last) continue;
    out += std::string(at - out.size(), ' ') + label;
  }
  return out + std::string(last > out.size() ? last - out.size() : 1, ' ') + end + "\n";
}

}  // namespace

std::string render_terminal(const Chart& chart, const TerminalStyle& style) {
  std::string out = chart.title.empty() ? "" : printable(chart.title) + "\n";
  std::size_t gutter = 1;
  // The gutter holds the longest label, and labels depend on the columns that it leaves: eight characters are enough for any.
  const std::size_t about = style.width > 22 ? style.width - 10 : 10;
  for (const Panel& p : chart.panels) gutter = std::max(gutter, short_number(top_of(p, about)).size());
  const std::size_t columns = style.width > gutter + 12 ? style.width - gutter - 2 : 10;
  for (const Panel& p : chart.panels) {
    for (const Line& l : p.lines) {
      out += printable(p.title) + (l.name.empty() ? "" : ", " + printable(l.name)) + "\n";
      out += area(l, top_of(p, about), style, gutter, columns, p.peaks);
    }
  }
  return out + std::string(gutter + 2, ' ') + axis(chart, columns);
}

std::string render_svg(const Chart& chart) {
  const double height = kTop + static_cast<double>(chart.panels.size()) * (kPanel + kGap);
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
      "<text x=\"{2}\" y=\"22\" font-size=\"16\">{3}</text>\n",
      kWidth, height, kLeft, escape(chart.title));
  double y0 = kTop;
  for (const Panel& p : chart.panels) {
    const double top = top_of(p, kPoints);
    out += fmt::format("<text x=\"{}\" y=\"{:.0f}\">{}</text>\n", kLeft, y0 - 4, escape(p.title));
    for (int i = 0; i <= 4; ++i) {
      const double y = y0 + kPanel * (1 - i / 4.0);
      out += fmt::format("<path d=\"M{} {:.1f}H{}\" stroke=\"#ddd\"/>\n", kLeft, y, kWidth - kRight);
      out +=
          fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", kLeft - 6, y + 4, short_number(top * i / 4));
    }
    double x = kWidth - kRight;
    for (std::size_t i = 0; i < p.lines.size(); ++i) {
      const std::string_view colour = kColours[i % kColours.size()];
      out += polyline(p.lines[i], p, top, y0, colour, i + 1 < p.lines.size());
      if (p.lines[i].name.empty()) continue;
      out += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"end\" fill=\"{}\">{}</text>\n", x, y0 - 4, colour,
                         escape(p.lines[i].name));
      x -= 20 + 7.0 * static_cast<double>(p.lines[i].name.size());
    }
    y0 += kPanel + kGap;
  }
  const double y = height - kGap + 18;
  for (std::size_t i = 0; i < chart.between.size(); ++i) {
    const double share = static_cast<double>(i + 1) / static_cast<double>(chart.between.size() + 1);
    const double x = kLeft + (kWidth - kLeft - kRight) * share;
    out += fmt::format("<path d=\"M{0:.1f} {1:.0f}v5\" stroke=\"#888\"/>", x, height - kGap);
    out += fmt::format("<text x=\"{:.1f}\" y=\"{:.0f}\" text-anchor=\"middle\">{}</text>\n", x, y, escape(chart.between[i]));
  }
  out += fmt::format("<text x=\"{}\" y=\"{:.0f}\">{}</text>\n", kLeft, y, escape(chart.begin));
  out +=
      fmt::format("<text x=\"{}\" y=\"{:.0f}\" text-anchor=\"end\">{}</text>\n</svg>\n", kWidth - kRight, y, escape(chart.end));
  return out;
}

}  // namespace muster::report
