#include "report/traffic.h"

#include <fmt/format.h>

namespace muster::report {

Table traffic_table(const Traffic& t) {
  Table out;
  out.columns = {{"PATTERN"},           {"PATTERNS", true},     {"SHARE MEAN", true},
                 {"SHARE WORST", true}, {"SLOWEST FLOW", true}, {"FULLEST LINK", true},
                 {"AT MOST", true}};
  const auto row = [&](const char* name, const predict::TrafficFigures& f) {
    const auto number = [](double v) { return Cell(fmt::format("{:.3f}", v)); };
    out.rows.push_back({Cell(name), Cell(fmt::format("{}", f.patterns)), number(f.mean), number(f.worst), number(f.slowest_mean),
                        Cell(fmt::format("{:.2f}", f.max_load_mean)), Cell(fmt::format("{:g}", f.max_load))});
  };
  row("shift", t.shifts);
  row("random pairs", t.pairs);
  return out;
}

}  // namespace muster::report
