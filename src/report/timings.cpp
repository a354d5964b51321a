#include "report/timings.h"

#include <fmt/format.h>

#include <algorithm>

namespace muster::report {
namespace {

using predict::TimingFamily;

std::string kind_of(const TimingFamily& f) { return std::string(names(Timing::Kind{})[static_cast<std::size_t>(f.kind)]); }

std::string percent(double share) { return fmt::format("{:.1f}", 100 * share); }

std::string shape_of(const Timing& t) {
  switch (t.kind) {
    case Timing::Kind::gemm:
      return t.groups > 1 ? fmt::format("{} of {} x {} x {}", t.groups, t.m, t.n, t.k)
                          : fmt::format("{} x {} x {}", t.m, t.n, t.k);
    case Timing::Kind::attention: return fmt::format("batch {} heads {} seq {} head {}", t.batch, t.heads, t.seq, t.head_dim);
    case Timing::Kind::stream: return fmt::format("{:.1f} MB", t.bytes * 1e-6);
    case Timing::Kind::step:
      return fmt::format("{} layers hidden {} ffn {} batch {} seq {}", t.model.layers, t.model.hidden, t.model.ffn,
                         t.plan.micro_batch, t.plan.seq);
  }
  return {};
}

}  // namespace

Table timing_errors(std::span<const TimingFamily> families) {
  Table t;
  t.columns = {{"KIND"},           {"BY"},           {"FITTED", true}, {"KEPT BACK", true}, {"MEDIAN PCT", true},
               {"MEAN PCT", true}, {"MAX PCT", true}};
  const auto line = [&](std::string kind, std::string by, std::uint32_t fitted, const std::vector<double>& errors) {
    double sum = 0;
    for (const double e : errors) sum += e;
    std::vector<Cell> cells{Cell(std::move(kind)), Cell(std::move(by)), Cell(fmt::format("{}", fitted)),
                            Cell(fmt::format("{}", errors.size()))};
    if (errors.empty()) {
      cells.insert(cells.end(), 3, Cell("-"));
    } else {
      cells.emplace_back(percent(errors[errors.size() / 2]));
      cells.emplace_back(percent(sum / static_cast<double>(errors.size())));
      cells.emplace_back(percent(errors.back()));
    }
    t.rows.push_back(std::move(cells));
  };
  std::vector<double> all;
  std::uint32_t fitted = 0;
  for (const TimingFamily& f : families) {
    std::vector<double> errors;
    for (const auto& p : f.kept_back) errors.push_back(p.error());
    line(kind_of(f), f.by, f.fitted, errors);
    all.insert(all.end(), errors.begin(), errors.end());
    fitted += f.fitted;
  }
  std::sort(all.begin(), all.end());
  line("all of them", "", fitted, all);
  return t;
}

Table timing_rows(std::span<const TimingFamily> families) {
  Table t;
  t.columns = {{"KIND"}, {"BY"}, {"PASS"}, {"SHAPE"}, {"PREDICTED US", true}, {"MEASURED US", true}, {"ERROR PCT", true}};
  for (const TimingFamily& f : families) {
    for (const auto& p : f.kept_back) {
      t.rows.push_back({Cell(kind_of(f)), Cell(f.by), Cell(p.backward ? "backward" : "forward"), Cell(shape_of(*p.timing)),
                        Cell(fmt::format("{:.1f}", 1e6 * p.predicted_s)), Cell(fmt::format("{:.1f}", 1e6 * p.measured_s)),
                        Cell(fmt::format("{:+.1f}", 100 * (p.predicted_s / p.measured_s - 1)))});
    }
  }
  return t;
}

}  // namespace muster::report
