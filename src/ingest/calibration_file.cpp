#include "ingest/calibration_file.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "ingest/csv.h"
#include "ingest/embedded.h"
#include "model/fields.h"

namespace muster {
namespace {

struct Reading {
  const Csv& csv;
  std::string_view where;

  const std::string& text(std::size_t row, std::string_view column) const { return csv.cell(row, column); }
  tl::unexpected<Error> bad(std::size_t row, const std::string& why) const {
    return fail(Code::bad_input, fmt::format("{}:{}: {}", where, csv.lines[row], why));
  }
  Result<void> number(std::size_t row, std::string_view column, double min, double max, double& out) const {
    if (csv.column(column) < 0) return {};
    const std::string& s = text(row, column);
    const auto n = parse_double(s);
    if (!n || !(*n >= min && *n <= max)) {
      return bad(row,
                 fmt::format("{} must be from {} to {}, is '{}'", column, render_number(min), render_number(max), printable(s)));
    }
    out = *n;
    return {};
  }
  Result<Calibration> calibration(std::size_t row) const {
    Calibration c;
    c.software = text(row, "software");
    if (c.software.empty()) return bad(row, "no software");
    for (const CalibrationField& f : calibration_fields()) {
      if (auto ok = number(row, f.name, f.min, f.max, c.*f.value); !ok) return tl::unexpected(ok.error());
    }
    return c;
  }
};

}  // namespace

Result<std::vector<Calibration>> parse_calibrations(std::string_view text, std::string_view where) {
  const auto csv = parse_csv(text, where);
  if (!csv) return tl::unexpected(csv.error());
  const Reading r{*csv, where};
  std::vector<Calibration> out;
  for (std::size_t i = 0; i < csv->rows.size(); ++i) {
    auto c = r.calibration(i);
    if (!c) return tl::unexpected(c.error());
    c->release = r.text(i, "release");
    c->gpu = r.text(i, "gpu");
    if (!parse_name(r.text(i, "dtype"), c->dtype))
      return r.bad(i, fmt::format("dtype '{}' is not known", printable(r.text(i, "dtype"))));
    double rows = 0;
    if (auto ok = r.number(i, "rows", 0, 1e9, rows); !ok) return tl::unexpected(ok.error());
    if (auto ok = r.number(i, "low", 0.01, 1.5, c->low); !ok) return tl::unexpected(ok.error());
    if (auto ok = r.number(i, "high", 0.5, 100, c->high); !ok) return tl::unexpected(ok.error());
    c->rows = static_cast<std::uint32_t>(rows);
    out.push_back(std::move(*c));
  }
  return out;
}

Result<std::vector<Software>> parse_software(std::string_view text, std::string_view where) {
  const auto csv = parse_csv(text, where);
  if (!csv) return tl::unexpected(csv.error());
  const Reading r{*csv, where};
  std::vector<Software> out;
  for (std::size_t i = 0; i < csv->rows.size(); ++i) {
    auto c = r.calibration(i);
    if (!c) return tl::unexpected(c.error());
    Software s{std::move(*c), {}, r.text(i, "by_release")};
    if (const std::string own = r.text(i, "own"); !own.empty()) s.own = own;
    if (!parse_name(r.text(i, "usual_for"), s.usual_for))
      return r.bad(i, fmt::format("usual_for must be dense, experts or nothing, is '{}'", printable(r.text(i, "usual_for"))));
    const auto known = [](std::string_view name) {
      const auto& all = calibration_fields();
      return std::any_of(all.begin(), all.end(), [&](const CalibrationField& f) { return f.name == name; });
    };
    const std::string free = r.text(i, "free");
    for (const std::string_view name : split(free, ' ')) {
      if (!known(name)) return r.bad(i, fmt::format("free: '{}' is no parameter", printable(name)));
      s.free.emplace_back(name);
    }
    if (!known(s.own)) return r.bad(i, fmt::format("own: '{}' is no parameter", printable(s.own)));
    if (!s.by_release.empty() && !known(s.by_release))
      return r.bad(i, fmt::format("by_release: '{}' is no parameter", printable(s.by_release)));
    out.push_back(std::move(s));
  }
  return out;
}

const std::vector<Calibration>& shipped_calibrations() {
  static const std::vector<Calibration> all = [] {
    auto read = parse_calibrations(embedded_file("calibration/training.csv").value_or(""));
    MUSTER_CHECK(read.has_value());
    return std::move(*read);
  }();
  return all;
}

const std::vector<Software>& shipped_software() {
  static const std::vector<Software> all = [] {
    auto read = parse_software(embedded_file("calibration/software.csv").value_or(""));
    MUSTER_CHECK(read.has_value());
    return std::move(*read);
  }();
  return all;
}

}  // namespace muster
