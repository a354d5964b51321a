// Which rank a job that hangs waits for, from what the flight recorders of its ranks kept.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/flight_record.h"

namespace muster::diagnose {

enum class HangKind : std::uint8_t {
  missing,   // ranks that never called the exchange the others are in, or left no dump
  mismatch,  // ranks that called another one
  stuck,     // all called the same, and it did not end
};
constexpr std::array<std::string_view, 3> names(HangKind) { return {"missing", "mismatch", "stuck"}; }

struct Hang {
  HangKind kind = HangKind::missing;
  std::vector<std::uint32_t> culprits;  // ranks to look at, ascending
  std::string group;                    // "6 (dp)"
  std::uint64_t seq = 0;
  std::string collective;             // "reduce_scatter [8388608] -> [2097152] BFloat16", as most ranks called it
  std::vector<std::string> evidence;  // sentences
  bool certain = true;                // false: what was kept does not reach far enough to be sure
};

// None: every exchange that anybody called has ended everywhere.
std::optional<Hang> find_hang(std::span<const FlightRecord> records);

}  // namespace muster::diagnose
