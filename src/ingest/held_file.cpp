#include "ingest/held_file.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/node_list.h"
#include "base/text.h"
#include "ingest/csv.h"

namespace muster {
namespace {

constexpr std::int64_t kGpusMax = 1'048'576;
constexpr std::size_t kListMax = 64;  // GPUs of one node
constexpr const char* kNext =
    "job,node,gpus,start,end with one line for each run, e.g. 42,gpu[001-004],32,2026-11-01T00:00Z,2026-11-02T12:00Z";

// "0-3,6".
std::optional<std::vector<std::string>> indices_of(std::string_view text) {
  std::vector<std::string> out;
  for (const std::string_view part : split(text, ',')) {
    const auto dash = part.find('-');
    const auto from = parse_uint(trim(part.substr(0, dash)));
    const auto to = dash == std::string_view::npos ? from : parse_uint(trim(part.substr(dash + 1)));
    if (!from || !to || *to < *from || *to >= kListMax || out.size() + *to - *from >= kListMax) return std::nullopt;
    for (std::uint64_t i = *from; i <= *to; ++i) out.push_back(std::to_string(i));
  }
  return out;
}

class Row {
 public:
  Row(const Csv& csv, std::size_t row, std::string_view file, const ZoneOffsets& zone)
      : csv_(csv), row_(row), file_(file), zone_(zone) {}

  Result<GpuHold> read() {
    GpuHold h;
    h.job = text("job");
    h.user = text("user");
    h.account = text("account");
    h.partition = text("partition");
    h.gpu_type = lower(text("gpu_type"));
    h.started = time("start");
    h.ended = time("end");
    h.engine_j = number("energy_j");
    h.tokens = number("tokens");
    if (h.job.empty()) bad("job is empty");
    if (why_.empty() && h.ended <= h.started) bad("it ends before it begins");
    places(h);
    if (!why_.empty()) return fail(Code::bad_input, fmt::format("{}:{}: {}", file_, csv_.lines[row_], why_), kNext);
    return h;
  }

 private:
  std::string text(std::string_view column) const { return std::string(trim(csv_.cell(row_, column))); }
  void bad(std::string why) {
    if (why_.empty()) why_ = std::move(why);
  }
  Time time(std::string_view column) {
    const RecordTime t = parse_record_time(text(column), zone_);
    if (t.is == TimeIs::none || t.is == TimeIs::wrong) bad(fmt::format("{} is no time: '{}'", column, printable(text(column))));
    return t.at;
  }
  std::optional<double> number(std::string_view column) {
    const std::string t = text(column);
    if (t.empty()) return std::nullopt;
    const auto v = parse_double(t);
    if (!v || !(*v >= 0 && *v < 1e21)) bad(fmt::format("{} is no number: '{}'", column, printable(t)));
    return v;
  }

  void places(GpuHold& h) {
    const auto nodes = expand_node_list(text("node"));
    if (!nodes || nodes->empty()) return bad(fmt::format("node is no list of nodes: '{}'", printable(text("node"))));
    std::vector<std::string> which;
    if (const std::string uuids = text("gpu_uuid"); !uuids.empty()) {
      for (const std::string_view u : split(uuids, ';')) which.emplace_back(trim(u));
    } else if (const std::string list = text("gpu_index"); !list.empty()) {
      const auto indices = indices_of(list);
      if (!indices) return bad(fmt::format("gpu_index must be like 0-3,6, is '{}'", printable(list)));
      which = *indices;
    }
    if (why_.empty() && text("gpu_index").empty() && text("gpu_uuid").empty() && text("gpus").empty())
      return bad("gpus is missing: how many it held, or which ones (gpu_index, gpu_uuid)");
    const auto n = static_cast<std::int64_t>(nodes->size());
    std::int64_t milli = static_cast<std::int64_t>(which.size()) * kGpuThousandths * n;
    if (const auto gpus = number("gpus"); gpus) {
      if (*gpus > static_cast<double>(kGpusMax)) return bad("gpus must be above 0 and at most 1,048,576");
      milli = static_cast<std::int64_t>(*gpus * static_cast<double>(kGpuThousandths) + 0.5);
    }
    if (milli <= 0 || milli > kGpusMax * kGpuThousandths) return bad("gpus must be above 0 and at most 1,048,576");
    for (std::int64_t i = 0; i < n; ++i)
      h.places.push_back({(*nodes)[static_cast<std::size_t>(i)], milli / n + (i < milli % n ? 1 : 0), which});
  }

  const Csv& csv_;
  std::size_t row_;
  std::string_view file_;
  const ZoneOffsets& zone_;
  std::string why_;
};

Result<Csv> table_with(std::string_view text, std::string_view file, std::initializer_list<std::string_view> needed) {
  auto csv = parse_csv(text, file);
  if (!csv) return csv;
  for (std::string& h : csv->header) h = lower(trim(h));
  for (const std::string_view n : needed) {
    if (csv->column(n) < 0) return fail(Code::bad_input, fmt::format("{}:1: the column {} is missing", file, n), kNext);
  }
  return csv;
}

}  // namespace

Result<std::vector<GpuHold>> parse_held(std::string_view text, std::string_view file, const ZoneOffsets& zone) {
  const auto csv = table_with(text, file, {"job", "node", "start", "end"});
  if (!csv) return tl::unexpected(csv.error());
  std::vector<GpuHold> out;
  for (std::size_t i = 0; i < csv->rows.size(); ++i) {
    auto h = Row(*csv, i, file, zone).read();
    if (!h) return tl::unexpected(h.error());
    out.push_back(std::move(*h));
  }
  return out;
}

Result<std::map<std::string, double>> parse_tokens_file(std::string_view text, std::string_view file) {
  const auto csv = table_with(text, file, {"job", "tokens"});
  if (!csv) return tl::unexpected(csv.error());
  std::map<std::string, double> out;
  for (std::size_t i = 0; i < csv->rows.size(); ++i) {
    if (trim(csv->cell(i, "tokens")).empty()) continue;
    const auto n = parse_double(trim(csv->cell(i, "tokens")));
    if (!n || !(*n > 0 && *n < 1e21)) {
      return fail(Code::bad_input, fmt::format("{}:{}: tokens must be a number above 0, is '{}'", file, csv->lines[i],
                                               printable(csv->cell(i, "tokens"))));
    }
    out[std::string(trim(csv->cell(i, "job")))] += *n;
  }
  return out;
}

GpuHold hold_of(const JobRecord& r, Time now) {
  GpuHold h;
  h.job = r.id.text;
  h.user = r.user;
  h.account = r.account;
  h.partition = r.partition;
  h.gpu_type = lower(r.gpu_type);
  h.started = r.started;
  h.ended = r.ended.ns > 0 ? r.ended : is_over(r.state) ? r.started : r.ran.ns > 0 ? r.started + r.ran : now;
  if (r.energy_j) h.engine_j = static_cast<double>(*r.energy_j);
  if (r.started.ns <= 0 || h.ended <= h.started || r.gpus_requested || r.gpus_milli.value_or(0) <= 0) return h;
  auto nodes = expand_node_list(r.node_list);
  if (!nodes || nodes->empty()) nodes = std::vector<std::string>(std::max(r.nodes, 1u), "");
  const auto n = static_cast<std::int64_t>(nodes->size());
  for (std::int64_t i = 0; i < n; ++i)
    h.places.push_back({(*nodes)[static_cast<std::size_t>(i)], *r.gpus_milli / n + (i < *r.gpus_milli % n ? 1 : 0), {}});
  return h;
}

}  // namespace muster
