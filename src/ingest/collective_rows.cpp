#include "ingest/collective_rows.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include "base/check.h"
#include "base/text.h"
#include "ingest/embedded.h"
#include "ingest/hardware_file.h"
#include "model/fields.h"

namespace muster {
namespace {

// One row's cells; what is wrong with it is kept: `wrong` is an error of the table, `lacking` a reason to skip the row.
class Cells {
 public:
  Cells(const Csv& csv, std::size_t row, std::string_view where) : csv_(csv), row_(row), where_(where) {}

  const std::string& text(std::string_view column) const { return csv_.cell(row_, column); }
  // 0: the cell is empty.
  double number(std::string_view column) {
    const std::string& cell = text(column);
    if (cell.empty()) return 0;
    const auto n = parse_double(cell);
    if (n && *n >= 0 && *n <= 1e16) return *n;
    if (wrong.empty())
      wrong = fmt::format("{}:{}: {} must be a number, is '{}'", where_, csv_.lines[row_], column, printable(cell));
    return 0;
  }
  std::uint32_t whole(std::string_view column) { return static_cast<std::uint32_t>(std::min(number(column), 4e9)); }
  void lack(std::string why) {
    if (lacking.empty()) lacking = std::move(why);
  }

  std::string wrong, lacking;

 private:
  const Csv& csv_;
  std::size_t row_;
  std::string_view where_;
};

bool has(std::string_view s, std::string_view part) { return s.find(part) != std::string_view::npos; }

// "H100 SXM", "GB300": the longest name of ours that is in it, or what it says.
std::string gpu_named(const std::string& text) {
  const std::string low = lower(text);
  std::string found;
  for (const GpuModel& g : gpu_models()) {
    if (has(low, g.name) && g.name.size() > found.size()) found = g.name;
  }
  return found.empty() ? low : found;
}

// "8x400G", "4x HDR200", "32x100G": gigabits a second in all; 0: not told.
double cards_gbit_s(std::string_view text) {
  for (std::size_t x = text.find('x'); x != std::string_view::npos; x = text.find('x', x + 1)) {
    std::size_t first = x;
    while (first > 0 && std::isdigit(static_cast<unsigned char>(text[first - 1])) != 0) --first;
    const auto cards = parse_uint(text.substr(first, x - first));
    std::size_t at = x + 1;
    while (at < text.size() && (text[at] == ' ' || std::isupper(static_cast<unsigned char>(text[at])) != 0)) ++at;
    std::size_t end = at;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
    const auto rate = parse_uint(text.substr(at, end - at));
    if (cards && rate && *cards >= 1 && *cards <= 64 && *rate >= 10 && *rate <= 3200) return static_cast<double>(*cards * *rate);
  }
  return 0;
}

std::string network_named(const std::string& text) {
  const std::string low = lower(text);
  if (has(low, "efa")) return "efa";
  if (has(low, "tcpx")) return "tcpx";
  if (has(low, "roce") || has(low, "gbe")) return "roce";
  return "infiniband";  // or not told, which it then most often is
}

void placed(Cells& c, CollectiveRow& r, const std::string& network, double nodes) {
  CollectiveSetup& s = r.setup;
  s.gpu = gpu_named(c.text("gpu"));
  s.gpus = c.whole("gpus");
  if (s.gpus < 2) c.lack("it does not say on how many GPUs");
  const double own = nodes > 0 ? s.gpus / nodes : s.gpus;
  const GpuModel* gpu = find_gpu_model(s.gpu);
  s.together = static_cast<std::uint32_t>(std::max(1.0, own));
  if (gpu != nullptr && gpu->domain > 8) s.together = std::min(s.gpus, gpu->domain);
  if (s.together >= s.gpus) return;
  s.network = network_named(network);
  const double gbit_s = cards_gbit_s(network);
  s.nic_gb_s = gbit_s > 0 ? gbit_s / 8 / std::max(1.0, own) : gpu != nullptr ? gpu->nic_gb_s : 50;
}

void timed(Cells& c, CollectiveRow& r, const char* bytes, const char* time_us, const char* bus_gb_s) {
  r.bytes = parse_double(c.text(bytes)).value_or(0);  // some say "large"
  if (!(r.bytes > 0 && r.bytes <= 1e16)) return c.lack("it does not say how many bytes");
  r.time_s = c.number(time_us) * 1e-6;
  if (const double bus = c.number(bus_gb_s); r.time_s <= 0 && bus > 0) {
    r.time_s = r.bytes * bus_factor(r.setup.op, r.setup.gpus) / (bus * 1e9);
  }
}

void operation(Cells& c, CollectiveRow& r, const char* column) {
  std::string name = lower(c.text(column));
  if (name == "alltoall") name = "all_to_all";
  if (name == "sendrecv") name = "send_recv";
  for (const auto& [short_name, ours] :
       {std::pair{"allreduce", "all_reduce"}, {"allgather", "all_gather"}, {"reducescatter", "reduce_scatter"}}) {
    if (name == short_name) name = ours;
  }
  if (!parse_name(name, r.setup.op)) c.lack(fmt::format("the operation {} is not known", printable(c.text(column))));
}

// ---- one function a table

void published(Cells& c, CollectiveRow& r) {
  operation(c, r, "collective");
  r.site = c.text("platform");
  r.variant = c.text("algorithm");
  placed(c, r, c.text("network"), c.number("nodes"));
  timed(c, r, "bytes", "time_us", "busbw_GBps");
}

void bus_bandwidths(Cells& c, CollectiveRow& r) {
  operation(c, r, "collective");
  r.site = c.text("fabric");
  r.variant = c.text("dtype") == "float" || c.text("dtype") == "bfloat16" ? "" : c.text("dtype");
  placed(c, r, c.text("fabric"), c.number("nodes"));
  timed(c, r, "size_bytes", "time_us", "busbw_gb_s");
}

void ours(Cells& c, CollectiveRow& r) {
  operation(c, r, "op");
  r.site = c.text("site");
  r.variant = c.text("variant");
  CollectiveSetup& s = r.setup;
  s.gpu = c.text("gpu");
  s.gpus = c.whole("gpus");
  s.together = c.whole("together");
  s.nic_gb_s = c.number("nic_gb_s");
  s.network = c.text("network");
  if (s.gpus < 2 || s.together < 1) c.lack("it does not say on how many GPUs");
  timed(c, r, "bytes", "time_us", "");
}

struct Table {
  std::vector<std::string_view> columns;  // all of them must be there
  void (*read)(Cells&, CollectiveRow&);
};
const Table kTables[] = {
    {{"platform", "collective", "gpu", "nodes", "gpus", "network", "bytes", "time_us"}, published},
    {{"collective", "gpu", "nodes", "gpus", "fabric", "size_bytes", "time_us"}, bus_bandwidths},
    {{"site", "op", "gpu", "gpus", "together", "bytes"}, ours},
};

template <class T>
const T& shipped(const char* file, Result<T> (*parse)(std::string_view, std::string_view)) {
  static const T all = [&] {
    auto read = parse(embedded_file(file).value_or(""), file);
    MUSTER_CHECK(read.has_value());
    return std::move(*read);
  }();
  return all;
}

Result<std::vector<CollectiveRow>> parse_rows(std::string_view text, std::string_view where) {
  const auto csv = parse_csv(text, where);
  if (!csv) return tl::unexpected(csv.error());
  auto rows = read_collective_rows(*csv, where);
  if (!rows) return tl::unexpected(rows.error());
  return std::move(rows->rows);
}

}  // namespace

Result<CollectiveRows> read_collective_rows(const Csv& csv, std::string_view file) {
  const auto table = std::find_if(std::begin(kTables), std::end(kTables), [&](const Table& t) {
    return std::all_of(t.columns.begin(), t.columns.end(), [&](std::string_view name) { return csv.column(name) >= 0; });
  });
  if (table == std::end(kTables)) {
    return fail(Code::bad_input, fmt::format("{}:1: not the columns of any table of collectives that is known", file),
                "docs/formats/collectives.md lists them");
  }
  CollectiveRows out;
  for (std::size_t i = 0; i < csv.rows.size(); ++i) {
    Cells c(csv, i, file);
    CollectiveRow r;
    r.row = i;
    table->read(c, r);
    if (!c.wrong.empty()) return fail(Code::bad_input, c.wrong);
    if (!c.lacking.empty())
      out.skipped.push_back({i, c.lacking});
    else
      out.rows.push_back(std::move(r));
  }
  return out;
}

Result<std::vector<CollectiveClass>> parse_collective_classes(std::string_view text, std::string_view where) {
  const auto csv = parse_csv(text, where);
  if (!csv) return tl::unexpected(csv.error());
  std::vector<CollectiveClass> out;
  for (std::size_t i = 0; i < csv->rows.size(); ++i) {
    Cells c(*csv, i, where);
    CollectiveClass one{c.text("class"), c.number("share"), c.number("start"), c.number("knee"), c.whole("rows")};
    if (c.wrong.empty() && (one.name.empty() || !(one.share > 0 && one.share <= 1) || one.start <= 0 || one.knee > 100))
      c.wrong =
          fmt::format("{}:{}: a class needs a name, a share above 0 and at most 1, and a start above 0", where, csv->lines[i]);
    if (!c.wrong.empty()) return fail(Code::bad_input, c.wrong);
    out.push_back(std::move(one));
  }
  return out;
}

Result<CollectiveSpread> parse_collective_spread(std::string_view text, std::string_view where) {
  const auto csv = parse_csv(text, where);
  if (!csv) return tl::unexpected(csv.error());
  CollectiveSpread out;
  for (std::size_t i = 0; i < csv->rows.size(); ++i) {
    Cells c(*csv, i, where);
    const double low = c.number("low"), high = c.number("high");
    const bool far = c.text("basis") == "extrapolated";
    if (c.wrong.empty() && !(low > 0 && low <= 1 && high >= 1 && (far || c.text("basis") == "calibrated")))
      c.wrong = fmt::format("{}:{}: basis is calibrated or extrapolated, low at most 1, high at least 1", where, csv->lines[i]);
    if (!c.wrong.empty()) return fail(Code::bad_input, c.wrong);
    (far ? out.far_low : out.low) = low;
    (far ? out.far_high : out.high) = high;
  }
  return out;
}

const std::vector<CollectiveRow>& shipped_collectives() { return shipped("calibration/collectives.csv", parse_rows); }
const std::vector<CollectiveClass>& shipped_collective_classes() {
  return shipped("calibration/collective_classes.csv", parse_collective_classes);
}
const CollectiveSpread& shipped_collective_spread() {
  return shipped("calibration/collective_spread.csv", parse_collective_spread);
}

}  // namespace muster
