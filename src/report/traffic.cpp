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

Table incast_table(std::span<const Incast> all) {
  Table out;
  out.columns = {{"CONTROL"},        {"FIRST MS", true},   {"LAST MS", true}, {"AT BEST MS", true}, {"PORT USED", true},
                 {"QUEUE KB", true}, {"AT MOST KB", true}, {"PAUSED", true},  {"FAIRNESS", true}};
  for (const Incast& one : all) {
    const predict::IncastFigures& f = one.figures;
    const auto number = [](const char* format, double v) {
      Cell c(fmt::format(fmt::runtime(format), v));
      c.raw = fmt::format("{:.6g}", v);
      return c;
    };
    out.rows.push_back({Cell(one.control), number("{:.3f}", f.first_s * 1e3), number("{:.3f}", f.last_s * 1e3),
                        number("{:.3f}", f.ideal_s * 1e3), number("{:.0f} %", 100 * f.port_used()),
                        number("{:.0f}", f.mean_queue_kb), number("{:.0f}", f.most_queue_kb), number("{:.1f} %", 100 * f.paused),
                        number("{:.3f}", f.fairness)});
  }
  return out;
}

}  // namespace muster::report
