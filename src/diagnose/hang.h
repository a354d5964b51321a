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
  late,      // all came, but one so much later than the others that they had given up, or that they wait for it every time
};
constexpr std::array<std::string_view, 4> names(HangKind) { return {"missing", "mismatch", "stuck", "late"}; }

struct Hang {
  HangKind kind = HangKind::missing;
  bool unseen = false;                  // missing as far as is known: who would tell left no dump, or an empty one
  std::vector<std::uint32_t> culprits;  // ranks to look at, ascending
  std::string group;                    // "6 (dp)"
  std::uint64_t seq = 0;
  std::string collective;                          // "reduce_scatter [8388608] -> [2097152] BFloat16", as most ranks called it
  std::vector<std::string> evidence;               // sentences
  bool certain = true;                             // false: what was kept does not reach far enough to be sure
  std::vector<std::uint32_t> waiting;              // that are in the exchange; of `unseen`, none: nothing there is unfinished
  std::vector<std::uint32_t> no_dump, no_entries;  // of the whole job, as its groups name its ranks
};

// None: every exchange that anybody called has ended everywhere, no rank comes late to them, and all ranks that the dumps name
// are there. Who is late is told by the hosts' clocks, which agree to milliseconds where time is kept.
std::optional<Hang> find_hang(std::span<const FlightRecord> records);

}  // namespace muster::diagnose
