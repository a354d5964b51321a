#include "ingest/op_trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"
#include "ingest/yaml.h"

namespace muster {
namespace {

constexpr std::array<std::string_view, 7> kColumns = {"dp_rank", "stage", "step", "optype", "start_ts", "duration", "seq_id"};
constexpr std::size_t kTypesMax = 200, kWidthMax = 64;

// A hundred thousand lines in a few milliseconds: cells are looked at where they stand. The tables of other rooms, which may
// quote their cells, are read by csv.h.
class Lines {
 public:
  explicit Lines(std::string_view text) : text_(text) {}
  bool next(std::string_view& line) {
    if (text_.empty()) return false;
    const std::size_t end = text_.find('\n');
    line = text_.substr(0, end);
    text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return true;
  }

 private:
  std::string_view text_;
};

std::size_t cells_of(std::string_view line, std::array<std::string_view, kWidthMax>& out) {
  std::size_t n = 0;
  while (n < kWidthMax) {
    const std::size_t comma = line.find(',');
    out[n++] = line.substr(0, comma);
    if (comma == std::string_view::npos) break;
    line.remove_prefix(comma + 1);
  }
  return n;
}

template <class T>
bool read(std::string_view cell, T& out) {
  const auto r = std::from_chars(cell.data(), cell.data() + cell.size(), out);
  return r.ec == std::errc() && r.ptr == cell.data() + cell.size();
}

std::uint32_t largest(const OpTrace& t, std::uint32_t JobOp::*of) {
  std::uint32_t most = 0;
  for (const JobOp& o : t.ops) most = std::max(most, o.*of);
  return t.ops.empty() ? 0 : most + 1;
}

}  // namespace

bool looks_like_op_trace(std::string_view text) {
  const std::string_view head = text.substr(0, std::min<std::size_t>(text.find('\n'), 4096));
  return head.find("optype") != std::string_view::npos && head.find("start_ts") != std::string_view::npos &&
         head.find("dp_rank") != std::string_view::npos;
}

Result<OpTrace> parse_op_trace(std::string_view text, std::string_view file) {
  const auto bad = [&](std::size_t line, std::string_view why) {
    return fail(Code::bad_input, fmt::format("{}:{}: {}", file, line, why),
                "a table with " + join({kColumns.begin(), kColumns.end()}, ", "));
  };
  Lines lines(text);
  std::string_view line;
  std::array<std::string_view, kWidthMax> cells;
  if (!lines.next(line)) return bad(1, "it is empty");
  const std::size_t width = cells_of(line, cells);
  std::array<std::size_t, kColumns.size()> at{};
  for (std::size_t i = 0; i < kColumns.size(); ++i) {
    const auto it = std::find(cells.begin(), cells.begin() + static_cast<std::ptrdiff_t>(width), kColumns[i]);
    if (it == cells.begin() + static_cast<std::ptrdiff_t>(width))
      return bad(1, fmt::format("there is no column {}", kColumns[i]));
    at[i] = static_cast<std::size_t>(it - cells.begin());
  }
  OpTrace out;
  for (std::size_t n = 2; lines.next(line); ++n) {
    if (line.empty()) continue;
    if (cells_of(line, cells) != width) return bad(n, "not as many cells as columns");
    JobOp o;
    const bool ok = read(cells[at[0]], o.dp) && read(cells[at[1]], o.stage) && read(cells[at[2]], o.step) &&
                    read(cells[at[4]], o.start_s) && read(cells[at[5]], o.length_s) && read(cells[at[6]], o.seq);
    if (!ok || !(o.length_s >= 0 && o.length_s < 1e9) || !(o.start_s > -1e12 && o.start_s < 1e12) || o.dp > 100'000 ||
        o.stage > 10'000)
      return bad(n, "a number that is none, or beyond all measure");
    const std::string_view type = cells[at[3]];
    auto known = std::find(out.types.begin(), out.types.end(), type);
    if (known == out.types.end()) {
      if (out.types.size() >= kTypesMax) return bad(n, "more kinds of operations than any framework has");
      out.types.push_back(printable(type));
      known = out.types.end() - 1;
    }
    o.type = static_cast<std::uint16_t>(known - out.types.begin());
    out.ops.push_back(o);
  }
  if (out.ops.empty()) return bad(2, "there are no operations");
  out.dp = largest(out, &JobOp::dp);
  out.stages = largest(out, &JobOp::stage);
  return out;
}

bool looks_like_job_meta(std::string_view text) {
  const std::string_view head = text.substr(0, 4096);
  return head.find("pp_size:") != std::string_view::npos && head.find("dp_size:") != std::string_view::npos;
}

Result<void> check_job_meta(std::string_view text, std::string_view file, const OpTrace& trace) {
  const auto yaml = parse_yaml(text, file);
  if (!yaml) return tl::unexpected(yaml.error());
  for (const auto& [key, found] : {std::pair{"dp_size", trace.dp}, {"pp_size", trace.stages}}) {
    const Value* v = yaml->find(key);
    if (v == nullptr || v->integer() == nullptr || *v->integer() < 1)
      return fail(Code::bad_input, fmt::format("{}: {} must be a whole number above 0", file, key));
    if (*v->integer() != found) {
      return fail(Code::bad_input, fmt::format("{}: {} is {}, the trace has {}", file, key, *v->integer(), found),
                  "the description of the same job");
    }
  }
  return {};
}

}  // namespace muster
