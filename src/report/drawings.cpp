#include "report/drawings.h"

#include <fmt/core.h>

#include <algorithm>

#include "report/page.h"
#include "report/sections.h"

namespace muster::report {
namespace {

constexpr double kRow = 30, kBar = 18;

}  // namespace

std::string draw_fall(const std::vector<FallBar>& bars, const Canvas& c, std::string_view label) {
  const std::int64_t installed = bars.empty() ? 0 : bars.front().amount_us;
  if (installed <= 0) return {};
  const double left_px = c.fall_left, right_px = c.width - c.fall_right;
  const double scale = (right_px - left_px) / static_cast<double>(installed);
  std::string out =
      fmt::format("<svg class=\"drawing {}\" id=\"fall{}\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">\n",
                  c.kind, c.suffix, c.width, kRow * static_cast<double>(bars.size()) + 6, page_text(label));
  double y = 4;
  std::int64_t left = installed;
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const FallBar& b = bars[i];
    if (i > 0) left -= b.amount_us;
    const std::int64_t from = i > 0 ? left : 0;
    const std::int64_t low = std::clamp<std::int64_t>(std::min(from, from + b.amount_us), 0, installed);
    const std::int64_t high = std::clamp<std::int64_t>(std::max(from, from + b.amount_us), 0, installed);
    const double share = 100 * static_cast<double>(b.amount_us) / static_cast<double>(installed);
    const std::string name = page_text(b.name);
    out += fmt::format(
        "<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"end\">{}</text><rect class=\"{}\" x=\"{:.2f}\" y=\"{:.0f}\" "
        "width=\"{:.2f}\" height=\"{:.0f}\"><title>{}: {} GPU-hours, {:.2f} %</title></rect>"
        "<text class=\"dim\" x=\"{:.0f}\" y=\"{:.0f}\">{}</text>\n",
        left_px - 10, y + 14, name, b.colour, left_px + scale * static_cast<double>(low), y,
        b.amount_us == 0 ? 0 : std::max(1.0, scale * static_cast<double>(high - low)), kBar, name, render_gpu_hours(b.amount_us),
        share, right_px + 10, y + 14, page_text(b.figure));
    y += kRow;
  }
  return out + "</svg>\n";
}

std::string draw_marks(const Canvas& c, double top, double height, double most) {
  std::string out;
  for (int i = 0; i <= 2; ++i) {
    const double y = top + height - height * i / 2;
    out += fmt::format(
        "<path class=\"gridline\" d=\"M{0:.0f} {1:.1f}H{2:.0f}\"/><text class=\"dim\" x=\"{3:.0f}\" y=\"{4:.1f}\" "
        "text-anchor=\"end\">{5:.3g} %</text>\n",
        c.days_left, y, c.width - 10, c.days_left - 10, y + 4, most * i / 2);
  }
  return out;
}

}  // namespace muster::report
