#include "ingest/acceptance_file.h"

#include <fmt/core.h>

#include <cmath>

#include "base/text.h"
#include "ingest/json.h"
#include "ingest/plain_row.h"
#include "model/codec.h"

namespace muster {
namespace {

constexpr std::string_view kReading = "{\"row\":\"reading\",";
constexpr std::int32_t kGpusMost = 1024;

// What every figure must be, whoever wrote it: a number that can be reckoned with.
struct Sane {
  std::string* why;
  bool number(std::string_view name, double v) const {
    if (std::isfinite(v) && std::abs(v) < 1e18) return true;
    *why = fmt::format("{} is no number", name);
    return false;
  }
  bool gpu(std::int32_t n, std::int32_t least = 0) const {
    if (n >= least && n < kGpusMost) return true;
    *why = fmt::format("gpu must be {} to {}", least, kGpusMost - 1);
    return false;
  }
  bool operator()(const accepting::Suite&) const { return true; }
  bool operator()(const accepting::Host&) const { return true; }
  bool operator()(const accepting::Gpu& r) const { return gpu(r.gpu); }
  bool operator()(const accepting::Ran& r) const {
    return gpu(r.gpu, -1) && number("begun_s", r.begun_s) && number("took_s", r.took_s);
  }
  bool operator()(const accepting::Measured& r) const {
    return gpu(r.gpu) && number("value", r.value) && number("begun_s", r.begun_s) && number("took_s", r.took_s) &&
           number("mhz", r.mhz);
  }
  bool operator()(const accepting::Wrong& r) const { return gpu(r.gpu); }
  bool operator()(const accepting::Counter& r) const {
    return gpu(r.gpu) && number("before", r.before) && number("after", r.after);
  }
  bool operator()(const accepting::Reading& r) const { return gpu(r.gpu) && number("at_s", r.at_s); }
  bool operator()(const accepting::KernelWord& r) const { return gpu(r.gpu, -1) && number("at_s", r.at_s); }
  bool operator()(const accepting::End& r) const {
    return number("at_s", r.at_s) && number("memory_left_mib", r.memory_left_mib);
  }
};

// What a row is nothing without: a value that is missing must not read as a good one.
Result<void> needs(const Value& row) {
  static constexpr std::pair<std::string_view, std::array<std::string_view, 4>> kNeeded[] = {
      {"gpu", {"gpu"}},
      {"ran", {"gpu", "test", "state"}},
      {"measured", {"gpu", "test", "metric", "value"}},
      {"wrong", {"gpu", "test"}},
      {"counter", {"gpu", "name", "before", "after"}},
      {"end", {"at_s", "stopped"}},
  };
  const Value* kind = row.find("row");
  for (const auto& [name, fields] : kNeeded) {
    if (kind == nullptr || kind->string() == nullptr || *kind->string() != name) continue;
    for (const std::string_view field : fields) {
      if (!field.empty() && row.find(field) == nullptr) return fail(Code::bad_input, fmt::format("{} is missing", field));
    }
  }
  return {};
}

// A line as whoever wrote it spelled it; most are spelled as we do.
Result<accepting::Row> row_of(std::string_view line) {
  if (auto plain = parse_plain_row(line)) return std::move(*plain);
  const auto value = parse_json(line, 8);
  if (!value) return tl::unexpected(value.error());
  if (auto ok = needs(*value); !ok) return tl::unexpected(ok.error());
  return decode_row(*value);
}

Result<void> add_line(Acceptance& a, std::string_view line, std::size_t number) {
  const auto bad = [&](const std::string& why) {
    return fail(Code::bad_input, fmt::format("{}:{}: {}", printable(a.file), number, why),
                "a recording of `muster accept`, as docs/formats/acceptance.md describes it");
  };
  auto row = row_of(line);
  if (!row && row.error().code == Code::not_found) return {};
  if (!row) return bad(row.error().what);
  std::string why;
  if (!std::visit(Sane{&why}, *row)) return bad(why);
  if (number == 1 && !std::holds_alternative<accepting::Suite>(*row)) return bad("the first row must be that of the suite");
  if (number > 1 && std::holds_alternative<accepting::Suite>(*row)) return bad("another recording begins here");
  a.add(std::move(*row));
  return {};
}

}  // namespace

Result<Acceptance> parse_acceptance(std::string_view text, const std::string& file, WithReadings readings) {
  Acceptance a;
  a.file = file;
  std::size_t number = 0;
  for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string_view::npos; at = end + 1) {
    const std::string_view line = text.substr(at, end - at);
    ++number;
    if (line.empty() || (readings == WithReadings::no && line.substr(0, kReading.size()) == kReading)) continue;
    if (auto ok = add_line(a, line, number); !ok) return tl::unexpected(ok.error());
  }
  if (a.suite.version.empty())
    return fail(Code::bad_input, fmt::format("{}: is no recording: nothing in it says of which suite it is", printable(file)),
                "a file that `muster accept --out` wrote");
  return a;
}

std::string render_row(const accepting::Row& row) { return encode_row(row) + "\n"; }

}  // namespace muster
