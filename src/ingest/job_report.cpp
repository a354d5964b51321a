#include "ingest/job_report.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>

#include "base/json_writer.h"
#include "base/text.h"
#include "ingest/json.h"

namespace muster {
namespace {

constexpr auto npos = std::string_view::npos;

auto bad(std::string what) {
  return fail(Code::bad_input, std::move(what), R"(for example {"job":"17","step":1200,"saved_step":1000})");
}

// The number at the start of `s`, after blanks; what follows it is left in `s`.
template <class T>
std::optional<T> take_number(std::string_view& s) {
  s.remove_prefix(std::min(s.find_first_not_of(' '), s.size()));
  T v{};
  const auto r = std::from_chars(s.data(), s.data() + s.size(), v);
  if (r.ec != std::errc()) return std::nullopt;
  s.remove_prefix(static_cast<std::size_t>(r.ptr - s.data()));
  return v;
}

bool step_in_range(std::int64_t v) { return v >= 0 && v <= kReportStepMax; }
bool seconds_in_range(double v) { return std::isfinite(v) && v >= 0 && v <= kReportSecondsMax; }

std::string_view after(std::string_view s, std::string_view key) {
  const std::size_t at = s.find(key);
  return at == npos ? std::string_view() : s.substr(at + key.size());
}

std::optional<JobReport> iteration_line(std::string_view line) {
  std::string_view rest = after(line, " iteration ");
  if (rest.empty() && line.starts_with("iteration ")) rest = line.substr(10);
  const auto step = take_number<std::int64_t>(rest);
  if (!step || !step_in_range(*step) || rest.empty() || rest[0] != '/') return std::nullopt;
  rest.remove_prefix(1);
  const auto total = take_number<std::int64_t>(rest);
  if (!total || *total < *step || !rest.starts_with(" |")) return std::nullopt;
  JobReport r;
  r.step = *step;
  std::string_view ms = after(rest, "elapsed time per iteration (ms): ");
  if (const auto v = take_number<double>(ms); v && *v > 0 && seconds_in_range(*v / 1000)) r.step_s = *v / 1000;
  return r;
}

std::optional<JobReport> saved_line(std::string_view line) {
  std::string_view rest = after(line, "successfully saved checkpoint ");
  if (!rest.starts_with("from iteration ") && !rest.starts_with("at iteration ")) return std::nullopt;
  rest = after(rest, "iteration ");
  const auto step = take_number<std::int64_t>(rest);
  if (!step || !step_in_range(*step) || !rest.starts_with(" to ")) return std::nullopt;
  JobReport r;
  r.saved_step = *step;
  return r;
}

// "    save-checkpoint ................................: (13424.36, 13424.53)", or one number, or, of old versions, "time (ms) |
// save-checkpoint: 13424.53": milliseconds.
std::optional<JobReport> timer_line(std::string_view line) {
  std::string_view rest = trim(line);
  if (rest.starts_with("time (ms) | ")) rest.remove_prefix(12);
  if (!rest.starts_with("save-checkpoint")) return std::nullopt;
  rest.remove_prefix(15);
  rest.remove_prefix(std::min(rest.find_first_not_of(" ."), rest.size()));
  if (!rest.starts_with(": ")) return std::nullopt;
  rest.remove_prefix(2);
  if (rest.starts_with('(')) {
    const std::size_t comma = rest.find(',');
    if (comma == npos) return std::nullopt;
    rest = rest.substr(comma + 1);
  }
  const auto ms = take_number<double>(rest);
  if (!ms || !seconds_in_range(*ms / 1000)) return std::nullopt;
  JobReport r;
  r.saving_s = *ms / 1000;
  return r;
}

Result<std::int64_t> whole(const Value& v, const std::string& key) {
  if (v.integer() == nullptr || !step_in_range(*v.integer())) return bad(key + " must be a whole number from 0");
  return *v.integer();
}

Result<void> read_member(const std::string& key, const Value& v, JobReport& r) {
  if (key == "job") {
    if (v.integer() != nullptr && *v.integer() >= 0) {
      r.job = std::to_string(*v.integer());
    } else if (v.string() != nullptr && v.string()->size() <= kReportJobMax) {
      r.job = *v.string();
    } else {
      return bad(fmt::format("job must be its number or a text of at most {} bytes", kReportJobMax));
    }
    return {};
  }
  for (const auto& [name, to] : {std::pair("attempt", &r.attempt), {"step", &r.step}, {"saved_step", &r.saved_step}}) {
    if (key != name) continue;
    const auto n = whole(v, key);
    if (!n) return tl::unexpected(n.error());
    *to = *n;
    return {};
  }
  for (const auto& [name, to] : {std::pair("step_s", &r.step_s), {"saving_s", &r.saving_s}}) {
    if (key != name) continue;
    double x = 0;
    if (!v.number(x) || !seconds_in_range(x)) return bad(fmt::format("{} must be 0 to {:.0f} seconds", key, kReportSecondsMax));
    *to = x;
    return {};
  }
  return bad(fmt::format("'{}' is not part of a report", printable(key.substr(0, 40))));
}

}  // namespace

Result<JobReport> read_job_report(const Value& v) {
  if (v.object() == nullptr) return bad("a report is a JSON object");
  JobReport r;
  for (const auto& [key, value] : *v.object()) {
    if (value.is_null()) continue;
    if (auto ok = read_member(key, value, r); !ok) return tl::unexpected(ok.error());
  }
  if (r.attempt > UINT32_MAX) return bad("attempt is too large");
  if (r.step < 0 && r.saved_step < 0) return bad("a report has a step, a saved_step, or both");
  if (r.step >= 0 && r.saved_step > r.step) return bad("saved_step is beyond step");
  return r;
}

Result<JobReport> parse_job_report(std::string_view line) {
  if (line.size() > kReportLineMax) return bad(fmt::format("a report has at most {} bytes", kReportLineMax));
  const auto v = parse_json(line, 4);
  if (!v) return bad("not JSON: " + v.error().what);
  return read_job_report(*v);
}

std::string render_job_report(const JobReport& r) {
  JsonWriter w;
  w.object();
  if (r.attempt > 0) w.field("attempt", r.attempt);
  if (r.step >= 0) w.field("step", r.step);
  if (r.saved_step >= 0) w.field("saved_step", r.saved_step);
  if (r.step_s >= 0) w.field("step_s", r.step_s);
  if (r.saving_s >= 0) w.field("saving_s", r.saving_s);
  w.end_object();
  return w.take_members();
}

std::optional<JobReport> parse_megatron_line(std::string_view line) {
  if (line.size() > 8192) return std::nullopt;
  if (auto r = saved_line(line)) return r;
  if (auto r = timer_line(line)) return r;
  return iteration_line(line);
}

}  // namespace muster
