// Days of the calendar, in UTC: what people write in files. No zone and no clock.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace muster {

// Days since 1970-01-01 of a date of the Gregorian calendar; none: there is no such day.
std::optional<std::int64_t> day_of(std::int64_t year, std::int64_t month, std::int64_t day);
// The day a moment is in, since 1970-01-01.
constexpr std::int64_t day_of(Time t) {
  constexpr std::int64_t kDay = 86'400'000'000'000;
  return t.ns >= 0 ? t.ns / kDay : -((-t.ns + kDay - 1) / kDay);
}
// When that day begins.
constexpr Time begin_of(std::int64_t day) { return Time{0} + days(day); }
// "2026-11-15".
std::string render_day(std::int64_t day);
// "2026-11-15", "2026-11-15T02:03", "2026-11-15T02:03:04Z", "2026-11-15T02:03:04.567Z": always UTC, with a Z or without.
std::optional<Time> parse_moment_utc(std::string_view text);

}  // namespace muster
