// Time as int64 nanoseconds: points (Time) and lengths (Duration). No clock is read here.
#pragma once
#include <compare>
#include <cstdint>
#include <string>

namespace muster {

struct Duration {
  std::int64_t ns = 0;
  constexpr auto operator<=>(const Duration&) const = default;
  constexpr Duration operator+(Duration o) const { return {ns + o.ns}; }
  constexpr Duration operator-(Duration o) const { return {ns - o.ns}; }
  constexpr Duration operator*(std::int64_t k) const { return {ns * k}; }
  constexpr double seconds() const { return static_cast<double>(ns) / 1e9; }
};

struct Time {
  std::int64_t ns = 0;
  constexpr auto operator<=>(const Time&) const = default;
  constexpr Time operator+(Duration d) const { return {ns + d.ns}; }
  constexpr Time operator-(Duration d) const { return {ns - d.ns}; }
  constexpr Duration operator-(Time o) const { return {ns - o.ns}; }
  constexpr std::int64_t ms() const { return ns / 1'000'000; }
};

constexpr Duration nanoseconds(std::int64_t n) { return {n}; }
constexpr Duration milliseconds(std::int64_t n) { return {n * 1'000'000}; }
constexpr Duration seconds(std::int64_t n) { return {n * 1'000'000'000}; }
constexpr Duration minutes(std::int64_t n) { return seconds(n * 60); }
constexpr Duration hours(std::int64_t n) { return seconds(n * 3600); }
constexpr Duration days(std::int64_t n) { return hours(n * 24); }
// Rounds to the nearest nanosecond; s must be within +-290 years.
Duration from_seconds(double s);

constexpr Time kNever{INT64_MAX};

// The three clocks of a machine. Leases, budgets and timeouts use `steady`; only what people read uses `utc`.
struct Now {
  Time utc;
  Time steady;
  Time boottime;
  auto operator<=>(const Now&) const = default;
};

// "2026-11-15T02:03:04.567Z"; milliseconds are left out when zero.
std::string render_utc(Time t);
// "3d 4h", "12m 30s", "45.2s", "310ms": two units at most, for people.
std::string render_duration(Duration d);

}  // namespace muster
