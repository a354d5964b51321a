#include "ingest/timings_file.h"

#include <fmt/core.h>

#include "base/check.h"
#include "base/text.h"
#include "ingest/csv.h"
#include "ingest/embedded.h"

namespace muster {
namespace {

class Row {
 public:
  Row(const Csv& csv, std::size_t row, std::string_view where) : csv_(csv), row_(row), where_(where) {}

  const std::string& text(std::string_view column) const { return csv_.cell(row_, column); }
  double number(std::string_view column) {
    const auto n = parse_double(text(column));
    if (n && *n > 0 && *n <= 1e12) return *n;
    if (error.empty())
      error =
          fmt::format("{}:{}: {} must be a number above 0, is '{}'", where_, csv_.lines[row_], column, printable(text(column)));
    return 1;
  }
  std::uint32_t whole(std::string_view column) { return static_cast<std::uint32_t>(std::min(number(column), 4e9)); }
  // "heads 32 kv 8 mb 1 seq 4096": the number after a word.
  std::uint32_t noted(std::string_view word) {
    const auto words = split(text("note"), ' ');
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      const auto n = parse_uint(words[i + 1]);
      if (words[i] == word && n && *n > 0 && *n < 1'000'000) return static_cast<std::uint32_t>(*n);
    }
    if (error.empty()) error = fmt::format("{}:{}: note has no {}", where_, csv_.lines[row_], word);
    return 1;
  }

  std::string error;

 private:
  const Csv& csv_;
  std::size_t row_;
  std::string_view where_;
};

void read_step(Row& r, Timing& t) {
  t.kind = Timing::Kind::step;
  Transformer& m = t.model;
  m.layers = r.whole("m");
  m.hidden = r.whole("n");
  m.ffn = r.whole("k");
  m.vocab = r.whole("groups");
  m.gated = true;
  m.heads = r.noted("heads");
  m.kv_heads = r.noted("kv");
  m.head_dim = m.hidden / m.heads;
  t.plan.micro_batch = t.plan.global_batch = r.noted("mb");
  t.plan.seq = r.noted("seq");
}

Result<std::vector<Timing>> parse(std::string_view text, std::string_view where, bool timed) {
  const auto csv = parse_csv(text, where);
  if (!csv) return tl::unexpected(csv.error());
  std::vector<Timing> out;
  for (std::size_t i = 0; i < csv->rows.size(); ++i) {
    Row r(*csv, i, where);
    Timing t;
    t.by = r.text("dtype");
    const std::string& kind = r.text("kind");
    if (kind == "gemm") {
      t.dtype = t.by == "fp8" ? Dtype::fp8 : Dtype::bf16;
      t.m = r.number("m");
      t.n = r.number("n");
      t.k = r.number("k");
      t.groups = r.number("groups");
    } else if (kind == "attention") {
      t.kind = Timing::Kind::attention;
      t.batch = r.number("m");
      t.heads = r.number("n");
      t.seq = r.number("k");
      t.head_dim = r.number("groups");
    } else if (kind == "add" || kind == "copy") {
      t.kind = Timing::Kind::stream;
      t.bytes = r.number("m") * (kind == "add" ? 6 : 4);
    } else if (kind == "step") {
      read_step(r, t);
    } else {
      return fail(Code::bad_input, fmt::format("{}:{}: kind '{}' is not known", where, csv->lines[i], printable(kind)),
                  "gemm, attention, add, copy or step");
    }
    if (timed) t.forward_s = r.number("forward_us") * 1e-6;
    if (timed && !r.text("backward_us").empty()) t.backward_s = r.number("backward_us") * 1e-6;
    if (!r.error.empty()) return fail(Code::bad_input, r.error);
    out.push_back(std::move(t));
  }
  return out;
}

}  // namespace

Result<std::vector<Timing>> parse_timings(std::string_view csv, std::string_view where) { return parse(csv, where, true); }
Result<std::vector<Timing>> parse_shapes(std::string_view csv, std::string_view where) { return parse(csv, where, false); }

TimingsOrigin timings_origin(std::string_view csv) {
  TimingsOrigin out;
  for (const std::string_view line : split(csv, '\n')) {
    if (!line.starts_with("#")) break;
    if (line.starts_with("# gpu:")) out.gpu = trim(line.substr(6));
    if (line.starts_with("# software:")) out.software = trim(line.substr(11));
  }
  return out;
}

std::string_view shipped_timings_file() { return embedded_file("calibration/h200_kernels.csv").value_or(""); }

const std::vector<Timing>& shipped_timings() {
  static const std::vector<Timing> all = [] {
    auto read = parse_timings(shipped_timings_file(), "h200_kernels.csv");
    MUSTER_CHECK(read.has_value());
    return std::move(*read);
  }();
  return all;
}

}  // namespace muster
