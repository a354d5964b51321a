#include "ingest/job_trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "ingest/csv.h"
#include "ingest/gunzip.h"
#include "ingest/slurm_text.h"

namespace muster {
namespace {

constexpr double kSecondsMax = 1e10;  // of a submission, about the year 2286; of a duration, 317 years
constexpr std::uint64_t kGpusMax = 1'000'000;
constexpr std::size_t kModelBytesMax = 64;

struct Columns {
  int submitted = -1;
  int run = -1;
  int gpus = -1;
  int model = -1;     // may be missing
  int tres = -1;      // of sacct: what the job was given, in place of gpus
  int asked = -1;     // of sacct: what it asked for; may be missing
  double unit_s = 1;  // of numbers
  std::size_t count = 0;
};

using Fields = std::vector<std::string>;

int column(const Fields& header, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const auto it = std::find(header.begin(), header.end(), name);
    if (it != header.end()) return static_cast<int>(it - header.begin());
  }
  return -1;
}

// Days since 1970-01-01 of a date in the Gregorian calendar.
std::int64_t days_of(std::int64_t y, std::int64_t m, std::int64_t d) {
  y -= m <= 2 ? 1 : 0;
  const std::int64_t era = y / 400;
  const std::int64_t year = y - era * 400;
  const std::int64_t day = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
  return era * 146097 + year * 365 + year / 4 - year / 100 + day - 719468;
}

// "+02:00", "-0530" at the end of a date, in seconds; it is taken off. None: there is none.
double take_offset(std::string_view& s) {
  const std::size_t sign = s.size() > 19 ? s.find_first_of("+-", 19) : std::string_view::npos;
  if (sign == std::string_view::npos) return 0;
  std::string digits(s.substr(sign + 1));
  if (digits.size() == 5 && digits[2] == ':') digits.erase(2, 1);
  if (digits.size() != 4) return 0;  // and what is left is no date
  const auto h = parse_uint(std::string_view(digits).substr(0, 2)), m = parse_uint(std::string_view(digits).substr(2));
  if (!h || !m || *h > 14 || *m > 59) return 0;
  const double seconds = static_cast<double>(*h * 3600 + *m * 60) * (s[sign] == '-' ? -1 : 1);
  s = s.substr(0, sign);
  return seconds;
}

// "2017-10-09 07:01:55", with T for the blank, decimals of the second and a Z or an offset at the end where there are any.
std::optional<double> parse_date(std::string_view s) {
  if (!s.empty() && s.back() == 'Z') s.remove_suffix(1);
  const double ahead = take_offset(s);
  if (s.size() < 19 || s[4] != '-' || s[7] != '-' || (s[10] != ' ' && s[10] != 'T') || s[13] != ':' || s[16] != ':') return {};
  const auto y = parse_uint(s.substr(0, 4)), mo = parse_uint(s.substr(5, 2)), d = parse_uint(s.substr(8, 2));
  const auto h = parse_uint(s.substr(11, 2)), mi = parse_uint(s.substr(14, 2));
  const auto sec = parse_double(s.substr(17));
  if (!y || !mo || !d || !h || !mi || !sec || *y < 1970 || *mo < 1 || *mo > 12 || *d < 1 || *h > 23 || *mi > 59 || *sec < 0 ||
      *sec >= 61) {
    return {};
  }
  constexpr std::array<std::uint64_t, 12> kDays = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (*y % 4 == 0 && *y % 100 != 0) || *y % 400 == 0;
  if (*d > kDays[*mo - 1] || (*mo == 2 && *d == 29 && !leap)) return {};
  const auto days = days_of(static_cast<std::int64_t>(*y), static_cast<std::int64_t>(*mo), static_cast<std::int64_t>(*d));
  return static_cast<double>(days) * 86400 + static_cast<double>(*h * 3600 + *mi * 60) + *sec - ahead;
}

Result<Columns> columns_of(const Fields& header, std::string_view where) {
  Columns c;
  c.count = header.size();
  c.submitted = column(header, {"timestamp", "submit_time", "submitted", "Submit"});
  c.run = column(header, {"duration", "run_time", "ElapsedRaw"});
  c.tres = column(header, {"AllocTRES"});
  c.asked = column(header, {"ReqTRES"});
  c.gpus = column(header, {"num_gpus", "num_gpu", "gpus", "gpu_num"});
  c.model = column(header, {"gpu_model", "gpu_type"});
  if (column(header, {"iterations"}) >= 0 && column(header, {"iteration_time"}) >= 0) c.unit_s = 0.001;
  const auto missing = [&](std::string_view name) {
    std::string there;
    for (const std::string& n : header) there += (there.empty() ? "" : ", ") + (n.empty() ? "(no name)" : printable(n));
    constexpr std::size_t kShown = 120;
    if (there.size() > kShown) there = there.substr(0, there.rfind(',', kShown)) + ", ...";
    return fail(Code::bad_input, fmt::format("{}: not a job trace: no column {}; there are {}", where, name, there),
                "a job trace is CSV with one line for each job: timestamp, duration (s) and num_gpus; or what sacct -a -X -P "
                "--format=Submit,ElapsedRaw,AllocTRES,ReqTRES prints");
  };
  if (c.submitted < 0) return missing("timestamp (or submit_time)");
  if (c.run < 0) return missing("duration");
  if (c.gpus < 0 && c.tres < 0) return missing("num_gpus (or num_gpu, gpus)");
  return c;
}

// What a job was given goes before what it asked for; one that never ran was given nothing.
std::optional<std::uint64_t> tres_gpus(std::string_view given, std::string_view asked) {
  const std::uint32_t gpus = slurm::gpus_in(given);
  return gpus > 0 ? gpus : slurm::gpus_in(asked);
}

class Rows {
 public:
  Rows(std::string_view file, const Columns& c) : file_(file), c_(c) {}

  Result<void> add(const Fields& f, int line) {
    if (f.size() != c_.count) return bad(line, fmt::format("{} fields, the header has {}", f.size(), c_.count));
    const auto at = [&](int i) { return trim(std::string_view(f[static_cast<std::size_t>(i)])); };
    const auto number = [&](std::string_view s) -> std::optional<double> {
      const auto v = parse_double(s);
      if (!v) return std::nullopt;
      const double seconds = *v * c_.unit_s;
      return seconds >= -kSecondsMax && seconds <= kSecondsMax ? std::optional<double>(seconds) : std::nullopt;
    };
    auto submitted = parse_date(at(c_.submitted));
    if (!submitted) submitted = number(at(c_.submitted));
    if (!submitted || *submitted < 0)
      return fail(Code::bad_input, fmt::format("{}:{}: timestamp is '{}'", file_, line, printable(at(c_.submitted))),
                  "write 2026-10-09 07:01:55 (UTC, or with +02:00 behind it), or seconds since 1970");
    const auto run = number(at(c_.run));
    if (!run) return bad(line, fmt::format("duration is '{}'", printable(at(c_.run))));
    if (*run < 0) return bad(line, fmt::format("duration is negative: {}", printable(at(c_.run))));
    const auto gpus = c_.gpus >= 0 ? parse_uint(at(c_.gpus)) : tres_gpus(at(c_.tres), c_.asked >= 0 ? at(c_.asked) : "");
    if (!gpus || *gpus > kGpusMax)
      return bad(line, fmt::format("number of GPUs is '{}'", printable(at(c_.gpus >= 0 ? c_.gpus : c_.tres))));
    if (*gpus == 0) {
      ++trace_.without_gpus;
    } else if (*run == 0) {
      ++trace_.without_run;
    } else {
      const std::string_view model = c_.model >= 0 ? at(c_.model) : std::string_view();
      if (model.size() > kModelBytesMax) return bad(line, fmt::format("a GPU model of {} bytes", model.size()));
      trace_.jobs.push_back(
          {Time{} + from_seconds(*submitted), from_seconds(*run), static_cast<std::uint32_t>(*gpus), std::string(model)});
    }
    return {};
  }
  JobTrace take() { return std::move(trace_); }

 private:
  tl::unexpected<Error> bad(int line, std::string what) const {
    return fail(Code::bad_input, fmt::format("{}:{}: {}", file_, line, what), "correct the line, or take it out");
  }

  std::string_view file_;
  const Columns& c_;
  JobTrace trace_;
};

}  // namespace

Result<JobTrace> parse_job_trace(std::string_view bytes, std::string_view file) {
  const auto text = gunzip_if_gzip(bytes);
  if (!text) return fail(text.error().code, fmt::format("{}: {}", file, text.error().what), text.error().next);
  std::string_view rest = *text;
  if (rest.starts_with("\xef\xbb\xbf")) rest.remove_prefix(3);
  // sacct -P puts bars between its columns, and commas within them.
  const std::string_view first = rest.substr(0, rest.find('\n'));
  const char separator = first.find('|') != std::string_view::npos && first.find("Submit") != std::string_view::npos ? '|' : ',';
  std::optional<Columns> columns;
  std::optional<Rows> rows;
  Fields fields;
  int next = 1;
  for (std::size_t i = 0; i < rest.size();) {
    skip_csv_comments(rest, i, next);
    const int line = next;
    if (i >= rest.size()) break;
    if (!read_csv_record(rest, i, next, fields, separator)) {
      return fail(Code::bad_input, fmt::format("{}:{}: a quote is not closed", file, line), "close it, or take it out");
    }
    if (fields.size() == 1 && trim(fields[0]).empty()) continue;
    if (!columns) {
      for (auto& f : fields) f = std::string(trim(f));
      auto c = columns_of(fields, fmt::format("{}:{}", file, line));
      if (!c) return tl::unexpected(c.error());
      columns = *c;
      rows.emplace(file, *columns);
      continue;
    }
    if (auto ok = rows->add(fields, line); !ok) return tl::unexpected(ok.error());
  }
  if (!columns) return fail(Code::bad_input, fmt::format("{}: empty", file), "a job trace begins with a header line");
  JobTrace trace = rows->take();
  trace.in_milliseconds = columns->unit_s != 1;
  std::stable_sort(trace.jobs.begin(), trace.jobs.end(),
                   [](const TraceJob& a, const TraceJob& b) { return a.submitted < b.submitted; });
  return trace;
}

}  // namespace muster
