// What a site pays for electricity: a price for each hour of the week and month, and one for the highest draw of a month.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"

namespace muster {

// Holds in these months, on these days of the week, in these hours, by the clocks of the tariff's zone.
struct TariffRule {
  std::string name;                // "on-peak"; may be empty
  double price = 0;                // per kWh, or per kW and month
  std::uint32_t months = 0xfff;    // bit 0: January
  std::uint32_t days = 0x7f;       // bit 0: Monday
  std::uint32_t hours = 0xffffff;  // bit 0: from midnight to one
  // Of demand: no month is charged for less than `ratchet` times the highest of the `ratchet_months` before it.
  double ratchet = 0;
  std::int32_t ratchet_months = 11;
  double earlier_peak_kw = 0;  // the highest of the months before all that is told of; 0: not said
};

struct Tariff {
  std::string name;
  std::string currency = "USD";
  std::string date;  // when these prices were read, or begin: "2026-11-01"; empty: not said
  std::string source;
  bool synthetic = false;                              // made up, as an example
  std::string zone = "UTC";                            // IANA
  std::vector<std::pair<Time, std::int32_t>> offsets;  // seconds east of UTC from then on; the first holds before too
  std::vector<TariffRule> energy;                      // the first that holds counts; every hour has one, unless `hourly`
  bool hourly = false;                                 // the price of energy comes from a series beside it
  double fees = 0;                                     // per kWh, on top: network, taxes
  std::vector<TariffRule> demand;                      // each charges the highest quarter of an hour of a month in which it holds
};

// The clocks of the tariff's zone at a moment.
struct LocalHour {
  std::int32_t year = 1970;
  std::uint32_t month = 0;    // 0: January
  std::uint32_t weekday = 0;  // 0: Monday
  std::uint32_t hour = 0;
  std::int32_t month_key() const { return year * 12 + static_cast<std::int32_t>(month); }
};

// Seconds east of UTC of the zone's clocks at a moment.
inline std::int32_t offset_at(const Tariff& t, Time utc) {
  std::int32_t offset = t.offsets.empty() ? 0 : t.offsets.front().second;
  for (const auto& [from, seconds_east] : t.offsets) {
    if (from > utc) break;
    offset = seconds_east;
  }
  return offset;
}

inline LocalHour local_hour(const Tariff& t, Time utc) {
  using namespace std::chrono;
  const sys_seconds at{std::chrono::seconds{utc.ns / 1'000'000'000 + offset_at(t, utc)}};
  const sys_days day = floor<std::chrono::days>(at);
  const year_month_day date{day};
  return {static_cast<int>(date.year()), static_cast<unsigned>(date.month()) - 1, weekday{day}.iso_encoding() - 1,
          static_cast<std::uint32_t>(duration_cast<std::chrono::hours>(at - day).count())};
}

inline bool holds(const TariffRule& r, const LocalHour& h) {
  return (r.months >> h.month & 1) != 0 && (r.days >> h.weekday & 1) != 0 && (r.hours >> h.hour & 1) != 0;
}

// The rule of energy that counts then; nullptr where there is none.
inline const TariffRule* rule_of(const Tariff& t, const LocalHour& h) {
  for (const TariffRule& r : t.energy) {
    if (holds(r, h)) return &r;
  }
  return nullptr;
}

}  // namespace muster
