// What a year of deferrable work costs on an hourly price series: run at once, run by the planner with day-before forecasts, and
// run with the whole year known.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "decide/energy/curve.h"
#include "model/price.h"

namespace muster::trial {

// How the work comes.
enum class Stream : std::uint8_t {
  daily,   // a day's work, to be finished within that day: a window of 24 hours, known when the day begins
  steady,  // the same amount every hour, each job due 24 hours after it came
  office,  // the same, more by day than by night
};
constexpr std::array<std::string_view, 3> names(Stream) { return {"daily", "steady", "office"}; }

struct PriceCell {
  double utilisation = 0;
  double idle_share = 0;  // power of an idle GPU, of a busy one
  double immediate = 0;   // bills, for GPUs that draw 1 MW when all are busy
  double muster = 0;
  double optimum = 0;
  double saving_pct = 0;  // of the immediate bill
  double optimum_pct = 0;
  double of_optimum = 0;  // saving over the optimum's
};

struct PriceTable {
  Stream stream = Stream::daily;
  bool market = false;     // today's prices published, rather than forecast
  std::uint64_t jobs = 0;  // of one GPU-hour, over all utilisations
  std::uint64_t late = 0;  // after their deadline
  std::vector<PriceCell> cells;
};

struct PriceReport {
  std::size_t hours = 0;
  std::size_t filled = 0;
  double mean_price = 0;
  double forecast_error = 0;  // mean absolute
  std::vector<PriceTable> tables;
};

struct PriceBenchOptions {
  PriceSeries prices;
  std::int64_t gpus = 1000;
  std::uint32_t deadline_h = 24;
  std::vector<double> utilisations = {0.5, 0.6, 0.7, 0.8, 0.9};
  std::vector<double> idle_shares = {0, 0.17, 0.35};
  std::uint32_t publish_hour = 12;
  std::function<void(double)> progress;  // share done; may be empty
};

PriceReport bench_price(const PriceBenchOptions& options);

}  // namespace muster::trial
