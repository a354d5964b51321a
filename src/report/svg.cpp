#include "report/svg.h"

#include <fmt/core.h>

#include <cmath>

#include "base/text.h"

namespace muster::report {

std::string escape(std::string_view s) {
  std::string out;
  for (const char c : printable(s)) {
    switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

double rounded_up(double v) {
  const double ten = std::pow(10, std::floor(std::log10(v)));
  for (const double x : {1.0, 2.0, 2.5, 4.0, 5.0, 6.0, 8.0}) {
    if (v <= x * ten * (1 + 1e-9)) return x * ten;
  }
  return 10 * ten;
}

std::string short_number(double v) {
  if (v >= 1e6) return fmt::format("{:.3g}M", v / 1e6);
  if (v >= 1e4) return fmt::format("{:.3g}k", v / 1e3);
  return fmt::format("{:.4g}", v);
}

}  // namespace muster::report
