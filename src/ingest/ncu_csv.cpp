#include "ingest/ncu_csv.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/text.h"
#include "ingest/csv.h"

namespace muster {
namespace {

constexpr std::size_t kLaunchesMost = 1'000'000;
constexpr std::size_t kSearch = std::size_t{1} << 20;  // the table begins within
constexpr std::string_view kWhat = "`ncu --csv --page raw` or `ncu --csv --page details`, of a run or of a report (--import)";

enum class Unit : std::uint8_t { plain, ns, hz, bytes, bytes_per_s };

using Field = std::optional<double> KernelMeasurement::*;

struct Metric {
  std::string_view name;  // of the raw page, then of the details page
  Field field;
  Unit unit = Unit::plain;
};

using M = KernelMeasurement;
constexpr std::array kMetrics = {
    Metric{"gpu__time_duration.sum", &M::duration_ns, Unit::ns},
    Metric{"gpu__time_duration.avg", &M::duration_ns, Unit::ns},
    Metric{"Duration", &M::duration_ns, Unit::ns},
    Metric{"sm__throughput.avg.pct_of_peak_sustained_elapsed", &M::sm_pct},
    Metric{"Compute (SM) Throughput", &M::sm_pct},
    Metric{"SM [%]", &M::sm_pct},
    Metric{"gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", &M::memory_pct},
    Metric{"Memory [%]", &M::memory_pct},
    Metric{"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", &M::dram_pct},
    Metric{"dram__throughput.avg.pct_of_peak_sustained_elapsed", &M::dram_pct},
    Metric{"DRAM Throughput", &M::dram_pct},
    Metric{"SOL FB", &M::dram_pct},
    Metric{"SOL SM", &M::sm_pct},
    Metric{"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", &M::tensor_pct},
    Metric{"sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active", &M::tensor_pct},
    Metric{"sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_active", &M::tensor_pct},
    Metric{"sm__inst_executed_pipe_tensor_op_hmma.avg.pct_of_peak_sustained_active", &M::tensor_pct},
    Metric{"sm__warps_active.avg.pct_of_peak_sustained_active", &M::achieved_occupancy_pct},
    Metric{"Achieved Occupancy", &M::achieved_occupancy_pct},
    Metric{"sm__maximum_warps_per_active_cycle_pct", &M::theoretical_occupancy_pct},
    Metric{"Theoretical Occupancy", &M::theoretical_occupancy_pct},
    Metric{"launch__occupancy_limit_registers", &M::limit_registers},
    Metric{"Block Limit Registers", &M::limit_registers},
    Metric{"launch__occupancy_limit_shared_mem", &M::limit_shared},
    Metric{"Block Limit Shared Mem", &M::limit_shared},
    Metric{"launch__occupancy_limit_blocks", &M::limit_blocks},
    Metric{"Block Limit SM", &M::limit_blocks},
    Metric{"launch__occupancy_limit_warps", &M::limit_warps},
    Metric{"Block Limit Warps", &M::limit_warps},
    Metric{"launch__waves_per_multiprocessor", &M::waves},
    Metric{"Waves Per SM", &M::waves},
    Metric{"launch__grid_size", &M::blocks},
    Metric{"Grid Size", &M::blocks},
    Metric{"launch__block_size", &M::threads},
    Metric{"Block Size", &M::threads},
    Metric{"launch__registers_per_thread", &M::registers},
    Metric{"Registers Per Thread", &M::registers},
    Metric{"launch__shared_mem_per_block_allocated", &M::shared_bytes, Unit::bytes},
    Metric{"launch__shared_mem_per_block", &M::shared_bytes, Unit::bytes},
    Metric{"Dynamic Shared Memory Per Block", &M::shared_bytes, Unit::bytes},
    Metric{"Static Shared Memory Per Block", &M::shared_bytes, Unit::bytes},
    Metric{"lts__t_sector_hit_rate.pct", &M::l2_hit_pct},
    Metric{"L2 Hit Rate", &M::l2_hit_pct},
    Metric{"dram__bytes.sum.per_second", &M::dram_bytes_per_s, Unit::bytes_per_s},
    Metric{"gpc__cycles_elapsed.avg.per_second", &M::sm_hz, Unit::hz},
    Metric{"sm__cycles_elapsed.avg.per_second", &M::sm_hz, Unit::hz},
    Metric{"smsp__cycles_elapsed.avg.per_second", &M::sm_hz, Unit::hz},
    Metric{"SM Frequency", &M::sm_hz, Unit::hz},
    Metric{"device__attribute_clock_rate", &M::sm_hz_max, Unit::hz},
    Metric{"device__attribute_max_gpu_frequency_khz", &M::sm_hz_max, Unit::hz},
    Metric{"device__attribute_multiprocessor_count", &M::sms},
    Metric{"launch__sm_count", &M::sms},
    Metric{"# SMs", &M::sms},
};

const Metric* metric(std::string_view name, std::string_view unit) {
  // The details page has two by this name: of the peak, and in bytes a second.
  if (name == "Memory Throughput") {
    static constexpr Metric kShare{"Memory Throughput", &M::memory_pct},
        kRate{"Memory Throughput", &M::dram_bytes_per_s, Unit::bytes_per_s};
    return trim(unit) == "%" ? &kShare : &kRate;
  }
  // Hopper's products of several warps have a pipe by another name, and others may follow.
  if (name.find("pipe_tensor") != std::string_view::npos && name.ends_with(".avg.pct_of_peak_sustained_active")) {
    static constexpr Metric kTensor{"tensor", &M::tensor_pct};
    return &kTensor;
  }
  const auto it = std::find_if(kMetrics.begin(), kMetrics.end(), [&](const Metric& m) { return m.name == name; });
  return it == kMetrics.end() ? nullptr : &*it;
}

double prefix(std::string_view& unit) {
  constexpr std::array<std::pair<char, double>, 8> kPrefixes = {
      {{'n', 1e-9}, {'u', 1e-6}, {'m', 1e-3}, {'K', 1e3}, {'k', 1e3}, {'M', 1e6}, {'G', 1e9}, {'T', 1e12}}};
  for (const auto& [letter, factor] : kPrefixes) {
    if (unit.size() > 1 && unit.front() == letter) {
      unit.remove_prefix(1);
      return factor;
    }
  }
  return 1;
}

// "usecond", "us", "msecond", "s" in seconds; none: no time.
std::optional<double> seconds_of(std::string_view unit) {
  const double factor = unit == "second" || unit == "s" || unit == "sec" ? 1 : prefix(unit);
  return unit == "second" || unit == "s" || unit == "sec" ? std::optional(factor) : std::nullopt;
}

// "Gbyte", "byte/block", "KB": bytes.
std::optional<double> bytes_of(std::string_view unit) {
  unit = unit.substr(0, unit.find('/'));
  const double factor = unit == "byte" || unit == "B" ? 1 : prefix(unit);
  return unit == "byte" || unit == "B" ? std::optional(factor) : std::nullopt;
}

// What to multiply by; none: the unit is of something else. Without one, numbers are in the base unit.
std::optional<double> factor_of(Unit of, std::string_view unit) {
  unit = trim(unit);
  const std::size_t slash = unit.find('/');
  const std::string_view above = unit.substr(0, slash), below = slash == std::string_view::npos ? "" : unit.substr(slash + 1);
  switch (of) {
    case Unit::plain: return 1;
    case Unit::ns: {
      if (unit.empty()) return 1;
      const auto s = seconds_of(unit);
      return s ? std::optional(*s * 1e9) : std::nullopt;
    }
    case Unit::hz: {
      if (unit.empty()) return 1e3;  // the device's attribute is in kHz and has no unit
      if (above.starts_with("cycle")) {
        const auto s = seconds_of(below);
        return s ? std::optional(1 / *s) : std::nullopt;
      }
      std::string_view rest = unit;
      const double factor = lower(unit) == "hz" ? 1 : prefix(rest);
      return lower(rest) == "hz" ? std::optional(factor) : std::nullopt;
    }
    case Unit::bytes: return unit.empty() ? std::optional(1.0) : bytes_of(unit);
    case Unit::bytes_per_s: {
      const auto b = bytes_of(above);
      const auto s = seconds_of(below);
      return b && s ? std::optional(*b / *s) : std::nullopt;
    }
  }
  return {};
}

// "1,234.5"; where commas stand for points, "1.234,5".
std::optional<double> value_of(std::string_view text, bool comma_is_point) {
  std::string plain;
  for (const char c : trim(text).substr(0, 40)) {
    if (c == (comma_is_point ? '.' : ',') || c == ' ') continue;
    plain += comma_is_point && c == ',' ? '.' : c;
  }
  const auto v = parse_double(plain);
  return v && *v > -1e30 && *v < 1e30 ? v : std::nullopt;
}

// A comma with one or two digits behind it separates no thousands.
bool says_comma_is_point(std::string_view cell) {
  const std::size_t at = cell.rfind(',');
  if (at == std::string_view::npos || at == 0) return false;
  const std::string_view after = cell.substr(at + 1);
  return (after.size() == 1 || after.size() == 2) && cell.find_first_not_of("0123456789.,") == std::string_view::npos;
}

void put(KernelMeasurement& to, const Metric* m, std::string_view unit, std::string_view value, bool comma_is_point) {
  if (m == nullptr) return;
  const auto v = value_of(value, comma_is_point);
  const auto f = factor_of(m->unit, unit);
  if (!v || !f || *v < 0) return;
  std::optional<double>& field = to.*(m->field);
  // Of several names for the same, the largest: pipes that are not used show 0.
  field = std::max(field.value_or(0), *v * *f);
}

// "(128, 1, 1)": their product.
std::optional<double> volume_of(std::string_view text) {
  text = trim(text);
  if (text.starts_with('(') && text.ends_with(')')) text = text.substr(1, text.size() - 2);
  double out = 1;
  const std::vector<std::string_view> parts = split(text, ',');
  if (parts.size() > 3) return {};
  for (const std::string_view p : parts) {
    const auto n = parse_uint(trim(p));
    if (!n || *n > 4'294'967'295) return {};
    out *= static_cast<double>(*n);
  }
  return out;
}

std::size_t header_at(std::string_view text) {
  const std::string_view head = text.substr(0, kSearch);
  for (std::size_t line = 0; line < head.size();) {
    const std::size_t end = std::min(head.find('\n', line), head.size());
    const std::string_view l = trim(head.substr(line, end - line));
    if ((l.starts_with("\"ID\",") || l.starts_with("ID,") || l.starts_with("\"ID\";")) &&
        l.find("Kernel Name") != std::string_view::npos)
      return line;
    line = end + 1;
  }
  return std::string_view::npos;
}

using Cells = std::vector<std::string>;

class TableReader {
 public:
  TableReader(Cells header, std::string_view file) : header_(std::move(header)), file_(file) {
    for (std::size_t i = 0; i < header_.size(); ++i) columns_.emplace(std::string(trim(header_[i])), i);
    narrow_ = columns_.count("Metric Name") > 0 && columns_.count("Metric Value") > 0;
  }

  // Numbers are read after a first look at all of them has told how they are written.
  Result<KernelProfile> read(std::string_view rows, int line, char separator) {
    for (const bool look : {true, false}) {
      std::size_t i = 0;
      int at = line;
      Cells row;
      while (i < rows.size()) {
        const int began = at;
        if (!read_csv_record(rows, i, at, row, separator))
          return fail(Code::bad_input, fmt::format("{}:{}: a quote is not closed", file_, began),
                      "the output was cut: take it again");
        if (look) {
          for (const std::string& cell : row) comma_is_point_ = comma_is_point_ || says_comma_is_point(cell);
        } else if (complete(row)) {
          take(row);
        } else if (row.size() > 1 || !trim(row[0]).empty()) {
          ++out_.skipped;
        }
        if (out_.launches.size() > kLaunchesMost)
          return fail(Code::refused, fmt::format("{}:{}: more than {} launches", file_, began, kLaunchesMost),
                      "profile fewer of them (ncu --launch-count)");
      }
    }
    return std::move(out_);
  }

 private:
  std::string_view cell(const Cells& row, std::string_view name) const {
    const auto it = columns_.find(name);
    return it == columns_.end() ? std::string_view() : std::string_view(row[it->second]);
  }

  // Where the table has columns for rules, rows of metrics end before them, with a comma. What the program prints is no row.
  bool complete(Cells& row) const {
    if (row.size() == header_.size() + 1 && row.back().empty()) row.pop_back();
    if (narrow_ && row.size() < header_.size() && row.size() > columns_.at("Metric Value")) row.resize(header_.size());
    if (row.size() != header_.size()) return false;
    const std::string_view id = trim(cell(row, "ID"));
    return parse_uint(id) || (id.empty() && !narrow_ && metrics_.empty());
  }

  void take(const Cells& row) {
    const std::string_view id = cell(row, "ID");
    if (!narrow_) {
      // The row under the header has the units, and no launch.
      if (metrics_.empty()) {
        units_ = id.empty() ? row : Cells(row.size());
        for (std::size_t i = 0; i < row.size(); ++i) metrics_.push_back(metric(trim(header_[i]), units_[i]));
        if (id.empty()) return;
      }
      KernelMeasurement& k = launch(row);
      for (std::size_t i = 0; i < row.size(); ++i) put(k, metrics_[i], units_[i], row[i], comma_is_point_);
      return;
    }
    const auto [it, fresh] =
        launches_.try_emplace(std::pair(std::string(cell(row, "Process ID")), std::string(id)), out_.launches.size());
    if (fresh) launch(row);
    const std::string_view unit = cell(row, "Metric Unit");
    put(out_.launches[it->second], metric(trim(cell(row, "Metric Name")), unit), unit, cell(row, "Metric Value"),
        comma_is_point_);
  }

  KernelMeasurement& launch(const Cells& row) {
    KernelMeasurement& k = out_.launches.emplace_back();
    k.name = printable(cell(row, "Kernel Name").substr(0, 1000));
    k.blocks = volume_of(cell(row, "Grid Size"));
    k.threads = volume_of(cell(row, "Block Size"));
    if (const auto cc = value_of(cell(row, "CC"), false); cc && *cc >= 1 && *cc < 100) k.capability = cc;
    return k;
  }

  Cells header_, units_;
  std::string_view file_;
  std::map<std::string, std::size_t, std::less<>> columns_;
  std::vector<const Metric*> metrics_;                                   // by column
  std::map<std::pair<std::string, std::string>, std::size_t> launches_;  // by process and id
  bool narrow_ = false, comma_is_point_ = false;
  KernelProfile out_;
};

}  // namespace

bool looks_like_ncu_csv(std::string_view text) { return header_at(text) != std::string_view::npos; }

Result<KernelProfile> parse_ncu_csv(std::string_view text, std::string_view file) {
  std::size_t at = header_at(text);
  if (at == std::string_view::npos)
    return fail(Code::bad_input, fmt::format("{}: there is no table of kernels in it", file), std::string(kWhat));
  int line = 1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
  const int header_line = line;
  const std::string_view first = text.substr(at, text.find('\n', at) - at);
  const char separator = first.find("\"ID\";") != std::string_view::npos ? ';' : ',';
  Cells header;
  if (!read_csv_record(text, at, line, header, separator))
    return fail(Code::bad_input, fmt::format("{}:{}: a quote is not closed", file, header_line), std::string(kWhat));
  auto out = TableReader(std::move(header), file).read(text.substr(at), line, separator);
  if (!out) return out;
  if (out->launches.empty())
    return fail(Code::bad_input, fmt::format("{}:{}: the table has no kernels", file, header_line), std::string(kWhat));
  return out;
}

}  // namespace muster
