#include "model/window.h"

#include <algorithm>

namespace muster {
namespace {

constexpr std::int64_t kMinute_ns = 60'000'000'000;
constexpr std::int64_t kDay_min = 1440;

// Minutes of local time since the epoch.
std::int64_t local_minutes(const Window& w, Time utc) {
  std::int64_t east_s = 0;
  for (const auto& [from, offset] : w.offsets) {
    if (from <= utc) east_s = offset;
  }
  const std::int64_t local_ns = utc.ns + east_s * 1'000'000'000;
  return local_ns >= 0 ? local_ns / kMinute_ns : (local_ns - kMinute_ns + 1) / kMinute_ns;
}

bool open_at(const Window& w, Time utc) {
  const std::int64_t local = local_minutes(w, utc);
  const std::int64_t day = (local - (local % kDay_min + kDay_min) % kDay_min) / kDay_min;
  const auto minute = static_cast<std::uint32_t>(local - day * kDay_min);
  const auto on = [&](std::int64_t d) { return (w.days >> ((d % 7 + 10) % 7) & 1) != 0; };  // day 0 was a Thursday
  if (w.from_min < w.to_min) return on(day) && minute >= w.from_min && minute < w.to_min;
  return (on(day) && minute >= w.from_min) || (on(day - 1) && minute < w.to_min);  // over midnight
}

}  // namespace

Duration until_window(const std::vector<Window>& windows, Time utc) {
  const auto open = [&](Time t) {
    return std::any_of(windows.begin(), windows.end(), [&](const Window& w) { return open_at(w, t); });
  };
  if (open(utc)) return {};
  // Windows begin at whole minutes: of utc, for all zones there are.
  const Time minute{utc.ns - utc.ns % kMinute_ns};
  for (std::int64_t k = 1; k <= 14 * kDay_min; ++k) {
    const Time t{minute.ns + k * kMinute_ns};
    if (open(t)) return t - utc;
  }
  return days(14);
}

}  // namespace muster
