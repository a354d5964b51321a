#include "report/accept_spread.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/accept_parts.h"

namespace muster::report {
namespace {

constexpr std::size_t kDots = 64;  // up to so many GPUs are drawn one by one
constexpr double kHigh = 34, kTop = 4, kAxis = 16, kEdge = 16, kDot = 3;

struct Canvas {
  double width;
  std::size_t bins;
  std::string_view suffix, kind;
};
constexpr Canvas kWide = {600, 71, "", "wide"};
constexpr Canvas kNarrow = {340, 41, "_narrow", "narrow"};

struct Bins {
  std::vector<std::size_t> count;
  std::size_t below = 0, above = 0;  // beyond the drawing
};

double x_of(const SpreadDrawing& d, const Canvas& c, double v) {
  return kEdge + (c.width - 2 * kEdge) * (0.5 + 0.5 * (v - d.median) / d.scale);
}

Bins bins_of(const SpreadDrawing& d, const Canvas& c) {
  Bins out;
  out.count.assign(c.bins, 0);
  for (const SpreadPoint& p : d.points) {
    const double at = 0.5 + 0.5 * (p.value - d.median) / d.scale;
    if (at < 0)
      ++out.below;
    else if (at > 1)
      ++out.above;
    else
      ++out.count[std::min(c.bins - 1, static_cast<std::size_t>(at * static_cast<double>(c.bins)))];
  }
  return out;
}

// Of a bin: whether its middle is beyond the limit.
std::string_view tone(const SpreadDrawing& d, const Canvas& c, std::size_t bin) {
  const double at = (static_cast<double>(bin) + 0.5) / static_cast<double>(c.bins);
  return d.beyond(d.median + d.scale * (2 * at - 1)) ? " off" : "";
}

void draw_bars(std::string& out, const SpreadDrawing& d, const Canvas& c, const Bins& bins) {
  const std::size_t most = std::max<std::size_t>(1, *std::max_element(bins.count.begin(), bins.count.end()));
  const double wide = (c.width - 2 * kEdge) / static_cast<double>(c.bins);
  for (std::size_t i = 0; i < c.bins; ++i) {
    if (bins.count[i] == 0) continue;
    const double high = std::max(1.5, kHigh * static_cast<double>(bins.count[i]) / static_cast<double>(most));
    out += fmt::format("<rect class=\"bar{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>", tone(d, c, i),
                       kEdge + wide * static_cast<double>(i), kTop + kHigh - high, std::max(1.0, wide - 0.8), high);
  }
}

// Equal ones stand on each other, as far as there is room.
void draw_dots(std::string& out, const SpreadDrawing& d, const Canvas& c) {
  std::vector<std::size_t> stacked(static_cast<std::size_t>(c.width / (2 * kDot)) + 1, 0);
  for (const SpreadPoint& p : d.points) {
    if (std::abs(p.value - d.median) > d.scale) continue;
    const double x = x_of(d, c, p.value);
    std::size_t& below = stacked[std::min(stacked.size() - 1, static_cast<std::size_t>(x / (2 * kDot)))];
    const double y = kTop + kHigh - kDot - std::min(kHigh - 2 * kDot, 2 * kDot * static_cast<double>(below));
    ++below;
    out += fmt::format("<circle class=\"dot{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"/>", d.beyond(p.value) ? " off" : "", x, y,
                       kDot);
  }
}

std::string draw_one(const SpreadDrawing& d, const std::string& id, const Canvas& c) {
  const Bins bins = bins_of(d, c);
  const double floor = kTop + kHigh, mid = x_of(d, c, d.median);
  std::string out = fmt::format(
      "<svg class=\"drawing {}\" id=\"{}{}\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}: {} GPUs around the "
      "median "
      "{}\"><path class=\"gridline\" d=\"M{:.0f} {:.1f}H{:.0f}\"/>",
      c.kind, id, c.suffix, c.width, floor + kAxis, d.metric.title, d.points.size(), figure_text(d.median), kEdge, floor,
      c.width - kEdge);
  if (d.points.size() <= kDots)
    draw_dots(out, d, c);
  else
    draw_bars(out, d, c, bins);
  out += fmt::format("<path class=\"median\" d=\"M{0:.1f} {1:.0f}V{2:.0f}\"/>", mid, kTop - 2, floor + 3);
  if (d.limit && std::abs(*d.limit - d.median) <= d.scale)
    out += fmt::format("<path class=\"cut\" d=\"M{0:.1f} {1:.0f}V{2:.0f}\"/>", x_of(d, c, *d.limit), kTop - 2, floor + 3);
  for (const auto& [count, left] : {std::pair(bins.below, true), std::pair(bins.above, false)}) {
    if (count == 0) continue;
    const bool bad = d.beyond(d.median + (left ? -1 : 1) * d.scale * 1.0001);
    out += fmt::format(
        "<path class=\"dot{}\" d=\"M{:.0f} {:.0f}l{} -6v12Z\"/><text class=\"dim\" x=\"{:.0f}\" y=\"{:.0f}\" "
        "text-anchor=\"{}\">{}</text>",
        bad ? " off" : "", left ? 2.0 : c.width - 2, floor - 10, left ? 9 : -9, left ? 14.0 : c.width - 14, floor - 20,
        left ? "start" : "end", count);
  }
  for (const auto& [at, anchor] : {std::pair(-1.0, "start"), std::pair(0.0, "middle"), std::pair(1.0, "end")})
    out += fmt::format("<text class=\"dim\" x=\"{:.1f}\" y=\"{:.0f}\" text-anchor=\"{}\">{}</text>",
                       x_of(d, c, d.median + at * d.scale), floor + 14, anchor, figure_text(d.median + at * d.scale));
  return out + "</svg>\n";
}

}  // namespace

bool SpreadDrawing::beyond(double v) const {
  return limit && (metric.better == accept::Better::higher ? v < *limit : v > *limit);
}

std::size_t SpreadDrawing::beyond_count() const {
  return static_cast<std::size_t>(std::count_if(points.begin(), points.end(), [this](const auto& p) { return beyond(p.value); }));
}

SpreadDrawing spread_drawing(const accept::Metric& m, double median, double sigma, std::optional<double> limit,
                             std::vector<SpreadPoint> points) {
  std::erase_if(points, [](const SpreadPoint& p) { return !std::isfinite(p.value); });
  const bool higher = m.better == accept::Better::higher;
  const auto worst = points.begin() + static_cast<std::ptrdiff_t>(std::min(kWorstSorted, points.size()));
  std::partial_sort(points.begin(), worst, points.end(), [higher](const auto& a, const auto& b) {
    return a.value != b.value ? (a.value < b.value) == higher : a.who < b.who;
  });
  // Wide enough for the limit and for nearly all; a card at half its speed must not press the others into one bar.
  double scale = limit ? 1.25 * std::abs(*limit - median) : 5 * sigma;
  if (!(scale > 0)) {
    for (const SpreadPoint& p : points) scale = std::max(scale, 1.1 * std::abs(p.value - median));
  }
  if (!(scale > 0) || !std::isfinite(scale)) scale = 1;
  return {m, median, sigma, limit, std::move(points), scale};
}

std::string draw_spread(const SpreadDrawing& d, const std::string& id) {
  return draw_one(d, id, kWide) + draw_one(d, id, kNarrow);
}

}  // namespace muster::report
