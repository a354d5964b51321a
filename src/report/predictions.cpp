#include "report/predictions.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "base/text.h"
#include "model/fields.h"

namespace muster::report {
namespace {

constexpr int kDigits = 5;

Cell number(double n, int decimals) {
  Cell c(fmt::format("{:.{}f}", n, decimals));
  c.key = n;
  return c;
}

// So many digits, never with an exponent.
Cell quantity(double n) {
  Cell c(render_number(parse_double(fmt::format("{:.{}g}", n, kDigits)).value_or(n)));
  c.key = n;
  return c;
}

double error_pct(const TrainingRow& r, const predict::RunPrediction& p) {
  return 100 * (r.metric_of(p.step_s) / r.metric_of(r.step_s) - 1);
}

struct Errors {
  std::vector<double> pct;
  std::size_t within = 0;
};

}  // namespace

Table predictions_table(const Csv& csv, const TrainingRows& rows,
                        std::span<const std::optional<predict::RunPrediction>> predicted) {
  Table t;
  for (const std::string& name : csv.header) t.columns.push_back({name});
  t.columns.push_back({"predicted_" + (rows.rows.empty() ? "step_time_s" : rows.rows.front().metric), true});
  for (const char* name : {"error_pct", "low", "high"}) t.columns.push_back({name, true});
  t.columns.push_back({"basis"});
  for (const auto& cells : csv.rows) {
    std::vector<Cell> row;
    for (const std::string& cell : cells) row.emplace_back(cell);
    row.resize(t.columns.size());
    t.rows.push_back(std::move(row));
  }
  const std::size_t first = csv.header.size();
  for (const TrainingRows::Skipped& s : rows.skipped) t.rows[s.row][first + 4] = Cell("none: " + s.why);
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    const TrainingRow& r = rows.rows[i];
    std::vector<Cell>& out = t.rows[r.row];
    if (!predicted[i]) {
      out[first + 4] = Cell("none: no run on this GPU is known");
      continue;
    }
    const predict::RunPrediction& p = *predicted[i];
    const double low = r.metric_of(p.low_s), high = r.metric_of(p.high_s);
    out[first] = quantity(r.metric_of(p.step_s));
    if (r.step_s > 0) out[first + 1] = number(error_pct(r, p), 2);
    out[first + 2] = quantity(std::min(low, high));
    out[first + 3] = quantity(std::max(low, high));
    out[first + 4] = Cell(p.calibrated ? "calibrated" : "extrapolated");
  }
  return t;
}

Table accuracy_table(std::span<const Scored> scored) {
  std::map<std::string, Errors> all;
  for (const Scored& s : scored) {
    for (const std::string& name : {s.row->software, std::string("all of them")}) {
      Errors& e = all[name];
      e.pct.push_back(std::abs(error_pct(*s.row, s.prediction)));
      e.within += s.row->step_s >= s.prediction.low_s && s.row->step_s <= s.prediction.high_s ? 1 : 0;
    }
  }
  Table t;
  t.columns = {{"SOFTWARE"}, {"RUNS", true}, {"MEAN_PCT", true}, {"MEDIAN_PCT", true}, {"MAX_PCT", true}, {"WITHIN_PCT", true}};
  for (auto& [name, e] : all) {
    std::sort(e.pct.begin(), e.pct.end());
    const auto n = static_cast<double>(e.pct.size());
    double mean = 0;
    for (const double x : e.pct) mean += x / n;
    t.rows.push_back({Cell(name), number(n, 0), number(mean, 2), number(e.pct[e.pct.size() / 2], 2), number(e.pct.back(), 1),
                      number(100 * static_cast<double>(e.within) / n, 0)});
  }
  return t;
}

std::string render_calibrations(std::span<const Calibration> all) {
  std::string out = "software,release,gpu,dtype,rows,low,high";
  for (const CalibrationField& f : calibration_fields()) out += fmt::format(",{}", f.name);
  out += "\n";
  for (const Calibration& c : all) {
    out += fmt::format("{},{},{},{},{},{:.4f},{:.4f}", c.software, c.release, c.gpu, name_of(c.dtype), c.rows, c.low, c.high);
    for (const CalibrationField& f : calibration_fields()) out += fmt::format(",{:.5g}", c.*f.value);
    out += "\n";
  }
  return out;
}

}  // namespace muster::report
