#include "base/time.h"

#include <fmt/core.h>

#include <cmath>

namespace muster {

Duration from_seconds(double s) { return {static_cast<std::int64_t>(std::llround(s * 1e9))}; }

std::string render_utc(Time t) {
  // Days to civil date after Howard Hinnant's published algorithm; gmtime is not used because its range and thread rules vary.
  std::int64_t ms = t.ns / 1'000'000;
  if (t.ns % 1'000'000 < 0) --ms;
  std::int64_t day = ms / 86'400'000;
  std::int64_t rest = ms % 86'400'000;
  if (rest < 0) {
    rest += 86'400'000;
    --day;
  }
  day += 719468;
  const std::int64_t era = (day >= 0 ? day : day - 146096) / 146097;
  const std::int64_t doe = day - era * 146097;
  const std::int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
  const std::int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
  const std::int64_t mp = (5 * doy + 2) / 153;
  const std::int64_t d = doy - (153 * mp + 2) / 5 + 1;
  const std::int64_t m = mp < 10 ? mp + 3 : mp - 9;
  const std::int64_t y = yoe + era * 400 + (m <= 2 ? 1 : 0);
  std::string s = fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", y, m, d, rest / 3'600'000, rest / 60'000 % 60,
                              rest / 1000 % 60);
  if (rest % 1000 != 0) s += fmt::format(".{:03}", rest % 1000);
  return s + "Z";
}

std::string render_duration(Duration dur) {
  std::int64_t ns = dur.ns < 0 ? -dur.ns : dur.ns;
  const char* sign = dur.ns < 0 ? "-" : "";
  if (ns < 1'000'000'000) return fmt::format("{}{}ms", sign, ns / 1'000'000);
  if (ns < 60'000'000'000) return fmt::format("{}{:.1f}s", sign, static_cast<double>(ns) / 1e9);
  const std::int64_t s = ns / 1'000'000'000;
  if (s < 3600) return fmt::format("{}{}m {:02}s", sign, s / 60, s % 60);
  if (s < 86400) return fmt::format("{}{}h {:02}m", sign, s / 3600, s / 60 % 60);
  return fmt::format("{}{}d {:02}h", sign, s / 86400, s / 3600 % 24);
}

}  // namespace muster
