#include "ingest/record_time.h"

#include <algorithm>
#include <optional>

#include "base/civil.h"

namespace muster {
namespace {

constexpr std::int64_t kDay_s = 86'400;
constexpr std::int64_t kLatest_s = 9'000'000'000;  // of the year 2255: later ones overflow

// So many digits; -1: something else stands there.
int digits(std::string_view s, std::size_t at, std::size_t n) {
  int v = 0;
  for (std::size_t i = at; i < at + n; ++i) {
    if (i >= s.size() || s[i] < '0' || s[i] > '9') return -1;
    v = v * 10 + (s[i] - '0');
  }
  return v;
}

// "Z", "+01:00", "+0100", "-05": seconds ahead of UTC.
std::optional<int> ahead_s(std::string_view s) {
  if (s == "Z" || s == "z") return 0;
  if (s.size() < 3 || (s[0] != '+' && s[0] != '-')) return std::nullopt;
  const int h = digits(s, 1, 2);
  int m = 0;
  if (s.size() > 3) {
    const std::size_t at = s[3] == ':' ? 4 : 3;
    m = s.size() == at + 2 ? digits(s, at, 2) : -1;
  }
  if (h < 0 || h > 18 || m < 0 || m > 59) return std::nullopt;
  return (s[0] == '-' ? -1 : 1) * (h * 3600 + m * 60);
}

std::int32_t offset_at(std::int64_t utc_s, const ZoneOffsets& zone) {
  if (zone.empty()) return 0;
  auto it = std::upper_bound(zone.begin(), zone.end(), utc_s,
                             [](std::int64_t s, const auto& z) { return s < z.first.ns / 1'000'000'000; });
  if (it != zone.begin()) --it;
  return it->second;
}

RecordTime from_local(std::int64_t local_s, const ZoneOffsets& zone) {
  RecordTime out{TimeIs::plain, {}, {}, true};
  if (zone.empty()) {
    out.at = {local_s * 1'000'000'000};
    return out;
  }
  // No clock is more than a day off: what held a day before and after are the two that it may be.
  const std::int32_t before = offset_at(local_s - kDay_s, zone), after = offset_at(local_s + kDay_s, zone);
  const std::int64_t first = local_s - before, last = local_s - after;
  const bool is_first = offset_at(first, zone) == before, is_last = offset_at(last, zone) == after;
  if (is_first && is_last && before != after) {
    out.is = TimeIs::ambiguous;
    out.at = {std::min(first, last) * 1'000'000'000};
    out.second = seconds(std::max(first, last) - std::min(first, last));
    return out;
  }
  if (!is_first && !is_last) out.is = TimeIs::skipped;
  out.at = {(is_last && !is_first ? last : first) * 1'000'000'000};
  return out;
}

}  // namespace

RecordTime parse_record_time(std::string_view s, const ZoneOffsets& zone) {
  constexpr RecordTime kWrong{TimeIs::wrong, {}, {}, false};
  if (s.empty() || s == "Unknown" || s == "None" || s == "N/A" || s == "(null)" || s == "None assigned" || s == "0") return {};
  if (s.size() >= 5 && s[4] != '-') {  // unix
    std::int64_t v = 0;
    for (const char c : s) {
      if (c < '0' || c > '9' || v > kLatest_s) return kWrong;
      v = v * 10 + (c - '0');
    }
    return v > kLatest_s ? kWrong : RecordTime{TimeIs::plain, {v * 1'000'000'000}, {}, false};
  }
  const int y = digits(s, 0, 4), mo = digits(s, 5, 2), d = digits(s, 8, 2), h = digits(s, 11, 2), mi = digits(s, 14, 2);
  if (y < 1970 || y > 2250 || h < 0 || h > 24 || mi < 0 || mi > 59 || s[4] != '-' || s[7] != '-' ||
      (s[10] != 'T' && s[10] != ' ') || s[13] != ':')
    return kWrong;
  std::size_t at = 16;
  int sec = 0;
  if (at < s.size() && s[at] == ':') {
    sec = digits(s, at + 1, 2);
    at += 3;
    if (sec < 0 || sec > 60) return kWrong;
    if (at < s.size() && s[at] == '.') {  // parts of a second are left out
      ++at;
      while (at < s.size() && s[at] >= '0' && s[at] <= '9') ++at;
    }
  }
  const auto day = day_of(y, mo, d);
  if (!day) return kWrong;
  const std::int64_t local = *day * kDay_s + h * 3600 + mi * 60 + sec;
  if (at >= s.size()) return from_local(local, zone);
  const auto ahead = ahead_s(s.substr(at));
  if (!ahead) return kWrong;
  return {TimeIs::plain, {(local - *ahead) * 1'000'000'000}, {}, false};
}

std::int64_t local_seconds(std::int64_t utc_s, const ZoneOffsets& zone) { return utc_s + offset_at(utc_s, zone); }

std::vector<Time> day_starts(Time from, Time to, const ZoneOffsets& zone) {
  std::vector<Time> out;
  const std::int64_t local = local_seconds(from.ns / 1'000'000'000, zone);
  for (std::int64_t day = local - ((local % kDay_s) + kDay_s) % kDay_s;; day += kDay_s) {
    out.push_back(from_local(day, zone).at);
    if (out.back() >= to) return out;
  }
}

}  // namespace muster
