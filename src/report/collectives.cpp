#include "report/collectives.h"

#include <fmt/format.h>

#include "base/text.h"
#include "model/fields.h"

namespace muster::report {
namespace {

std::string size_words(double bytes) {
  constexpr std::string_view kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{:.4g} {}", bytes, kUnits[unit]);
}

Cell words(std::string_view text) {
  Cell c(std::string(text.empty() ? "-" : text));
  c.raw = std::string(text);
  return c;
}

Cell time_cell(double s) {
  Cell c(fmt::format("{:.1f}", s * 1e6));
  c.raw = fmt::format("{:.6g}", s * 1e6);
  c.key = s;
  return c;
}

}  // namespace

Table collective_table(std::span<const PredictedCollective> all) {
  Table t;
  t.columns = {{"SIZE", true},     {"TIME_US", true}, {"LOW_US", true}, {"HIGH_US", true},
               {"BUS_GB_S", true}, {"ALGORITHM"},     {"LIMIT"},        {"BASIS"}};
  for (const PredictedCollective& one : all) {
    const predict::CollectivePrediction& p = one.prediction;
    Cell size(size_words(one.bytes));
    size.raw = render_number(one.bytes);
    size.key = one.bytes;
    t.rows.push_back({std::move(size), time_cell(p.s), time_cell(p.low_s), time_cell(p.high_s),
                      Cell(fmt::format("{:.1f}", p.bus_gb_s)),
                      words(p.protocol.empty() ? std::string(p.algorithm) : fmt::format("{}/{}", p.algorithm, p.protocol)),
                      words(p.limit), Cell(fmt::format("{} {}", p.calibrated ? "measured at" : "extrapolated from", p.by))});
  }
  return t;
}

Table collective_predictions(const Csv& csv, const CollectiveRows& rows,
                             std::span<const std::optional<predict::CollectivePrediction>> predicted) {
  std::vector<PredictedRow> out;
  for (const CollectiveRows::Skipped& s : rows.skipped) out.push_back({.row = s.row, .none = s.why});
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    const CollectiveRow& r = rows.rows[i];
    if (!predicted[i]) {
      out.push_back({.row = r.row, .none = "its GPU is not known, and nobody measured the same"});
      continue;
    }
    const predict::CollectivePrediction& p = *predicted[i];
    out.push_back({.row = r.row,
                   .predicted = p.s * 1e6,
                   .low = p.low_s * 1e6,
                   .high = p.high_s * 1e6,
                   .measured = r.time_s * 1e6,
                   .calibrated = p.calibrated});
  }
  return with_predictions(csv, "time_us", out);
}

Table collective_accuracy(std::span<const CollectiveRow> rows,
                          std::span<const std::optional<predict::CollectivePrediction>> predicted, double least_bytes) {
  std::vector<PredictionError> errors;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const CollectiveRow& r = rows[i];
    if (!predicted[i] || r.bytes < least_bytes || r.time_s <= 0) continue;
    const predict::CollectivePrediction& p = *predicted[i];
    errors.push_back({fmt::format("{}, {}", r.setup.network.empty() ? "nvlink" : r.setup.network,
                                  p.calibrated ? "other sizes measured" : "not measured"),
                      100 * (p.s / r.time_s - 1), r.time_s >= p.low_s && r.time_s <= p.high_s});
  }
  return with_peers(error_table("OVER", errors), {{"all of them", "ASTRA-sim 9.7 to 20.6 (its own documents, one node)"}});
}

std::string render_collectives(std::span<const CollectiveRow> rows) {
  Table t;
  for (const char* name : {"site", "variant", "op", "gpu", "gpus", "together", "nic_gb_s", "network", "bytes", "time_us"})
    t.columns.push_back({name});
  for (const CollectiveRow& r : rows) {
    if (r.time_s <= 0) continue;
    const CollectiveSetup& s = r.setup;
    t.rows.push_back({Cell(r.site), Cell(r.variant), Cell(std::string(name_of(s.op))), Cell(s.gpu),
                      Cell(fmt::format("{}", s.gpus)), Cell(fmt::format("{}", s.together)), Cell(render_number(s.nic_gb_s)),
                      Cell(s.network), Cell(render_number(r.bytes)), Cell(fmt::format("{:.6g}", r.time_s * 1e6))});
  }
  return render_csv(t, true);
}

std::string render_collective_classes(std::span<const CollectiveClass> classes) {
  std::string out = "class,share,start,knee,rows\n";
  for (const CollectiveClass& c : classes)
    out += fmt::format("{},{:.4f},{:.4g},{:.4f},{}\n", c.name, c.share, c.start, c.knee, c.rows);
  return out;
}

std::string render_collective_spread(const CollectiveSpread& s) {
  return fmt::format("basis,low,high\ncalibrated,{:.4f},{:.4f}\nextrapolated,{:.4f},{:.4f}\n", s.low, s.high, s.far_low,
                     s.far_high);
}

}  // namespace muster::report
