#include "report/predictions.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>

#include "base/text.h"
#include "model/fields.h"
#include "report/plan.h"

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

}  // namespace

Table with_predictions(const Csv& csv, std::string_view metric, std::span<const PredictedRow> rows) {
  Table t;
  for (const std::string& name : csv.header) t.columns.push_back({.name = name, .as_is = true});
  t.columns.push_back({.name = fmt::format("predicted_{}", metric), .right = true, .as_is = true});
  for (const char* name : {"error_pct", "low", "high"}) t.columns.push_back({name, true});
  t.columns.push_back({"basis"});
  for (const auto& cells : csv.rows) {
    std::vector<Cell> row;
    for (const std::string& cell : cells) row.emplace_back(cell);
    row.resize(t.columns.size());
    t.rows.push_back(std::move(row));
  }
  const std::size_t first = csv.header.size();
  for (const PredictedRow& r : rows) {
    std::vector<Cell>& out = t.rows[r.row];
    if (!r.none.empty()) {
      out[first + 4] = Cell("none: " + r.none);
      continue;
    }
    out[first] = quantity(r.predicted);
    if (r.measured > 0) out[first + 1] = number(100 * (r.predicted / r.measured - 1), 2);
    out[first + 2] = quantity(std::min(r.low, r.high));
    out[first + 3] = quantity(std::max(r.low, r.high));
    out[first + 4] = Cell(r.calibrated ? "calibrated" : "extrapolated");
  }
  return t;
}

Table error_table(const char* family, std::span<const PredictionError> errors) {
  struct Errors {
    std::vector<double> pct;
    std::size_t within = 0;
  };
  std::map<std::string, Errors> all;
  for (const PredictionError& one : errors) {
    for (const std::string& name : {one.family, std::string("all of them")}) {
      Errors& e = all[name];
      e.pct.push_back(std::abs(one.pct));
      e.within += one.within ? 1 : 0;
    }
  }
  Table t;
  t.columns = {{family}, {"RUNS", true}, {"MEAN_PCT", true}, {"MEDIAN_PCT", true}, {"MAX_PCT", true}, {"WITHIN_PCT", true}};
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

Table predictions_table(const Csv& csv, const TrainingRows& rows,
                        std::span<const std::optional<predict::RunPrediction>> predicted) {
  std::vector<PredictedRow> out;
  for (const TrainingRows::Skipped& s : rows.skipped) out.push_back({.row = s.row, .none = s.why});
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    const TrainingRow& r = rows.rows[i];
    if (!predicted[i]) {
      out.push_back({.row = r.row, .none = "no run on this GPU is known"});
      continue;
    }
    const predict::RunPrediction& p = *predicted[i];
    out.push_back({.row = r.row,
                   .predicted = r.metric_of(p.step_s),
                   .low = r.metric_of(p.low_s),
                   .high = r.metric_of(p.high_s),
                   .measured = r.step_s > 0 ? r.metric_of(r.step_s) : 0,
                   .calibrated = p.calibrated});
  }
  return with_predictions(csv, rows.rows.empty() ? "step_time_s" : rows.rows.front().metric, out);
}

Table accuracy_table(std::span<const Scored> scored) {
  std::vector<PredictionError> errors;
  for (const Scored& s : scored) {
    // Releases of several benchmarks say which after a stroke: "v5.0/llama31_405b".
    const std::string& release = s.row->release;
    const auto stroke = release.find('/');
    const std::string of = stroke == std::string::npos ? "" : " " + release.substr(stroke + 1);
    errors.push_back({s.row->software + of, error_pct(*s.row, s.prediction),
                      s.row->step_s >= s.prediction.low_s && s.row->step_s <= s.prediction.high_s});
  }
  return with_peers(error_table("SOFTWARE", errors), {{"megatron-deepspeed", "calculon 11.2 (median 7.1), vTrain 14.7"},
                                                      {"megatron-deepspeed-node", "vTrain 8.4"}});
}

Table with_peers(Table t, const std::map<std::string, std::string>& of_others) {
  t.columns.push_back({"PEERS_PCT"});
  for (auto& row : t.rows) {
    const auto it = of_others.find(row.front().text);
    Cell c(it == of_others.end() ? "-" : it->second);
    c.raw = it == of_others.end() ? "" : it->second;
    row.push_back(std::move(c));
  }
  return t;
}

Table scored_table(std::span<const Scored> scored) {
  Table t;
  t.columns = {{"SOFTWARE"},     {"RELEASE"},         {"MODEL"},           {"GPU"}, {"FORMAT"}, {"GPUS", true}, {"PLAN"},
               {"STEP_S", true}, {"PREDICTED", true}, {"ERROR_PCT", true}, {"WAS"}};
  for (const Scored& s : scored) {
    const TrainingRow& r = *s.row;
    t.rows.push_back({Cell(r.software), Cell(r.release), Cell(r.model.name), Cell(r.gpu),
                      Cell(std::string(name_of(r.plan.dtype))), number(r.plan.gpus, 0), Cell(say_plan(r.plan)),
                      number(r.step_s, 4), number(s.prediction.step_s, 4), number(error_pct(r, s.prediction), 1),
                      Cell(predict::teaches(r) ? "fitted" : "kept back")});
  }
  return t;
}

std::vector<Choice> choices(std::span<const Scored> scored) {
  std::map<std::tuple<std::string, std::string, std::uint32_t>, std::vector<const Scored*>> groups;
  for (const Scored& s : scored) {
    const Transformer& m = s.row->model;
    groups[{s.row->software, fmt::format("{} layers of {}, {} heads", m.layers, m.hidden, m.heads), s.row->plan.gpus}].push_back(
        &s);
  }
  std::vector<Choice> out;
  for (const auto& [key, those] : groups) {
    if (those.size() < 2) continue;
    // Steps of different batches are compared by the sequence.
    const auto measured = [](const Scored* s) { return s->row->step_s / s->row->plan.global_batch; };
    const auto predicted = [](const Scored* s) { return s->prediction.step_s / s->row->plan.global_batch; };
    const auto by = [](const auto& of) { return [of](const Scored* x, const Scored* y) { return of(x) < of(y); }; };
    const Scored* best = *std::min_element(those.begin(), those.end(), by(measured));
    const Scored* taken = *std::min_element(those.begin(), those.end(), by(predicted));
    out.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), those.size(), measured(taken) / measured(best) - 1});
  }
  return out;
}

Table choice_table(std::span<const Choice> all) {
  Table t;
  t.columns = {{"SOFTWARE"}, {"MODEL"}, {"GPUS", true}, {"RUNS", true}, {"LOST_PCT", true}};
  for (const Choice& c : all) {
    t.rows.push_back(
        {Cell(c.software), Cell(c.model), number(c.gpus, 0), number(static_cast<double>(c.runs), 0), number(100 * c.lost, 2)});
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
