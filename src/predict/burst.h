// A peak of work that is too much for what is there: rent GPUs for it, wait in the queue, or buy. What each costs with its data
// on the way, when the results are there, and where the choice turns.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::predict {

struct BurstAsk {
  double gpu_hours = 0;
  double data_tb = 0, results_tb = 0;  // what must go there, and what must come back

  // Renting.
  double usd_per_gpu_hour = 0;
  double gpus = 0;                // at once
  double slower = 0;              // share by which they are slower, interruptions and lost work included
  double start_hours = 0.5;       // until they run
  double egress_usd_per_gb = 0;   // out of the cloud
  double leaving_usd_per_gb = 0;  // out of where the data are
  double storage_usd_per_gb_month = 0;
  double link_gbit_s = 0, rtt_ms = 0;
  double streams = 8, window_mib = 4, protocol = 0.94;  // of the link's rate: frames, TCP and its like

  // Waiting.
  double own_gpus = 0;
  double queue_hours = 0;
  double own_usd_per_gpu_hour = 0;  // what one more hour of what is there costs: power

  // Buying.
  double buy_usd_per_gpu_hour = 0;  // of an hour owned, all in
  double lead_days = 90;
  double peaks_a_year = 1;  // what is bought serves so many

  std::optional<double> by_hours;  // after which results are worth nothing
  double late_usd_per_day = 0;     // what each day until they are there costs
};

enum class BurstWay : std::uint8_t { rent, wait, buy };
constexpr std::array<std::string_view, 3> names(BurstWay) { return {"rent", "wait", "buy"}; }

struct BurstPart {
  std::string name;
  double usd = 0, hours = 0;
};
struct BurstOption {
  BurstWay way = BurstWay::rent;
  std::vector<BurstPart> parts;
  double usd = 0, hours = 0;  // until the results are there
  double late_usd = 0;        // of `usd`, for the days that pass
  bool in_time = true;
};
// Where the best option stops being so.
struct BurstTurn {
  std::string what;  // "data_tb", "usd_per_gpu_hour"
  double now = 0, at = 0;
  BurstWay to = BurstWay::wait;
  bool by_time = false;  // the deadline, not the price
};
struct Burst {
  std::vector<BurstOption> options;  // in time first, then the cheapest first
  double link_gb_s = 0;              // what one transfer gets
  double link_share = 0;             // of the link's rate
  bool by_window = false;            // round trips bound it, not the link
  std::vector<BurstTurn> turns;

  const BurstOption* best() const { return options.empty() || !options.front().in_time ? nullptr : &options.front(); }
};

Result<Burst> burst(const BurstAsk& ask);

}  // namespace muster::predict
