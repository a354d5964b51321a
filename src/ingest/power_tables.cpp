#include "ingest/power_tables.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "base/check.h"
#include "base/text.h"
#include "ingest/csv.h"
#include "ingest/embedded.h"

namespace muster {
namespace {

constexpr double kWattsMax = 5'000;
constexpr double kRatioMax = 100;
constexpr const char* kOwn = "your own measurement has the columns cap_w, throughput and power_w, with one row for each cap";

class Numbers {
 public:
  Numbers(const Csv& csv, std::string_view file) : csv_(csv), file_(file) {}
  double read(std::size_t row, std::string_view column, double max) {
    const std::string& cell = csv_.cell(row, column);
    const auto v = parse_double(trim(cell));
    if (v && *v > 0 && *v <= max) return *v;
    if (!error_) {
      error_ = Error{Code::bad_input,
                     fmt::format("{}:{}: {} must be above 0 and at most {}, is '{}'", file_, csv_.lines[row], column,
                                 render_number(max), printable(cell)),
                     {}};
    }
    return 1;
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  const Csv& csv_;
  std::string_view file_;
  std::optional<Error> error_;
};

Result<void> need(const Csv& csv, std::string_view file, std::initializer_list<std::string_view> columns, const char* next) {
  for (const std::string_view c : columns) {
    if (csv.column(c) < 0) return fail(Code::bad_input, fmt::format("{}:1: the column {} is missing", file, c), next);
  }
  if (csv.rows.empty()) return fail(Code::bad_input, fmt::format("{}:1: no rows", file), next);
  return {};
}

// Ratios to the highest cap, which is taken to be none.
Result<std::vector<CapPoint>> own_caps(const Csv& csv, std::string_view file) {
  Numbers n(csv, file);
  std::vector<CapPoint> out;
  std::vector<double> rate;
  for (std::size_t i = 0; i < csv.rows.size(); ++i) {
    CapPoint p;
    p.gpu = lower(trim(csv.cell(i, "gpu")));
    p.bound = "measured";
    p.cap_w = n.read(i, "cap_w", kWattsMax);
    p.power_w = n.read(i, "power_w", kWattsMax);
    rate.push_back(n.read(i, "throughput", 1e18));
    p.source = std::string(file);
    out.push_back(p);
  }
  if (n.error()) return tl::unexpected(*n.error());
  const auto top = static_cast<std::size_t>(
      std::max_element(out.begin(), out.end(), [](const CapPoint& a, const CapPoint& b) { return a.cap_w < b.cap_w; }) -
      out.begin());
  const double rate0 = rate[top], power0 = out[top].power_w;
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i].time_ratio = rate0 / rate[i];
    out[i].energy_ratio = out[i].power_w / power0 * out[i].time_ratio;
  }
  return out;
}

Result<std::vector<CapPoint>> given_caps(const Csv& csv, std::string_view file) {
  if (auto ok = need(csv, file, {"gpu", "bound", "cap_w", "time_ratio", "energy_ratio"}, kOwn); !ok)
    return tl::unexpected(ok.error());
  Numbers n(csv, file);
  std::vector<CapPoint> out;
  for (std::size_t i = 0; i < csv.rows.size(); ++i) {
    CapPoint p;
    p.gpu = lower(trim(csv.cell(i, "gpu")));
    p.bound = csv.cell(i, "bound");
    p.cap_w = n.read(i, "cap_w", kWattsMax);
    p.time_ratio = n.read(i, "time_ratio", kRatioMax);
    p.energy_ratio = n.read(i, "energy_ratio", kRatioMax);
    if (!csv.cell(i, "power_w").empty()) p.power_w = n.read(i, "power_w", kWattsMax);
    p.work = csv.cell(i, "work");
    p.source = csv.cell(i, "source");
    out.push_back(p);
  }
  if (n.error()) return tl::unexpected(*n.error());
  return out;
}

}  // namespace

Result<std::vector<GpuWatts>> parse_gpu_watts(std::string_view text, std::string_view file) {
  const auto csv = parse_csv(text, file);
  if (!csv) return tl::unexpected(csv.error());
  if (auto ok = need(*csv, file, {"gpu", "idle_w", "typical_w", "max_w"}, "as data/energy/gpu_watts.csv"); !ok)
    return tl::unexpected(ok.error());
  Numbers n(*csv, file);
  std::vector<GpuWatts> out;
  for (std::size_t i = 0; i < csv->rows.size(); ++i) {
    GpuWatts w{lower(trim(csv->cell(i, "gpu"))), n.read(i, "idle_w", kWattsMax), n.read(i, "typical_w", kWattsMax),
               n.read(i, "max_w", kWattsMax), csv->cell(i, "source")};
    if (!n.error() && !(w.idle_w <= w.typical_w && w.typical_w <= w.max_w))
      return fail(Code::bad_input, fmt::format("{}:{}: idle_w, typical_w and max_w must rise", file, csv->lines[i]));
    out.push_back(std::move(w));
  }
  if (n.error()) return tl::unexpected(*n.error());
  return out;
}

Result<std::vector<CapPoint>> parse_power_caps(std::string_view text, std::string_view file) {
  const auto csv = parse_csv(text, file);
  if (!csv) return tl::unexpected(csv.error());
  const bool own = csv->column("throughput") >= 0;
  if (own) {
    if (auto ok = need(*csv, file, {"cap_w", "throughput", "power_w"}, kOwn); !ok) return tl::unexpected(ok.error());
  }
  auto out = own ? own_caps(*csv, file) : given_caps(*csv, file);
  if (!out) return out;
  const auto key = [](const CapPoint& p) { return std::tuple(std::string_view(p.gpu), std::string_view(p.bound), -p.cap_w); };
  std::stable_sort(out->begin(), out->end(), [&](const CapPoint& a, const CapPoint& b) { return key(a) < key(b); });
  for (std::size_t i = 1; i < out->size(); ++i) {
    if (key((*out)[i - 1]) == key((*out)[i]))
      return fail(Code::bad_input, fmt::format("{}:1: {} {} has the cap {} W twice", file, printable((*out)[i].gpu),
                                               printable((*out)[i].bound), (*out)[i].cap_w));
  }
  return out;
}

const std::vector<GpuWatts>& shipped_gpu_watts() {
  static const std::vector<GpuWatts> rows = [] {
    auto read = parse_gpu_watts(embedded_file("energy/gpu_watts.csv").value_or(""), "gpu_watts.csv");
    MUSTER_CHECK(read.has_value());
    return std::move(*read);
  }();
  return rows;
}

const std::vector<CapPoint>& shipped_power_caps() {
  static const std::vector<CapPoint> rows = [] {
    auto read = parse_power_caps(embedded_file("energy/power_caps.csv").value_or(""), "power_caps.csv");
    MUSTER_CHECK(read.has_value());
    return std::move(*read);
  }();
  return rows;
}

}  // namespace muster
