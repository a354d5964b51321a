// Deferrable work with deadlines: how much of it to run in the hour that begins, so that all of it costs least and no deadline is
// missed that can be kept. Work is counted in GPU-hours, each a unit that runs for one hour on one GPU; a longer job is as many
// units, paused at a checkpoint between two hours.
//
// Why greedy is optimal. Call one GPU in one hour a place. A set of places is good if all work can be done in it, each unit in a
// place of its own within its window; the good sets of places are the spanning sets of a transversal matroid, whose cheapest
// basis greedy finds: go through the places from the dearest to the cheapest, and drop each one as long as the rest stays good
// (or, the other way round, from the cheapest, and take each one that can still be filled). For units with windows, Hall's
// condition need only be looked at on intervals: for every interval of hours the places in it are at least the units whose
// windows lie inside it. So one pass over the hours, with an O(n) test where windows are nested in order (whoever comes later is
// due no earlier) and O(n^2) otherwise, gives an exact optimum of the forecast. The bill is linear in the hours run, and idle
// power is paid for every GPU in every hour, so it does not change which hours are best, only how much is saved.
//
// Deadlines. The plan keeps Hall's condition on the intervals that begin now, so whatever the forecasts say, work that is
// waiting is finished in time if the capacity allows. Work still to come is kept too, without knowing it, as long as no more
// than the capacity arrives in an hour and none of it is due sooner after its arrival than what waits.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace muster::decide {

// Units that may run from hour `from` on and must be finished by the end of hour `due`; 0 is the hour that begins.
struct Batch {
  std::uint32_t from = 0;
  std::uint32_t due = 0;
  std::int64_t units = 0;
};

// Units to run now: `price` for the hours ahead as far as anybody plans; `work` waiting (from 0) and expected. Work due after
// the last of those hours is left to later plans, so these must reach beyond what waits. Never more than waits or than
// `capacity`.
std::int64_t run_now(std::span<const double> price, std::span<const Batch> work, std::int64_t capacity);

// The cheapest hours for work that is all known, windows in order (see above): units to run in each hour. Work that no schedule
// could finish in time is left out.
std::vector<std::int64_t> cheapest_schedule(std::span<const double> price, std::span<const Batch> work, std::int64_t capacity);

// Whether a job is worth its power: value per GPU-hour against the price of the hour, per MWh, at what one GPU draws with its
// share of the node and of cooling, in kW. When power is dear only valuable jobs are.
bool worth_running(double value_per_gpu_h, double price_per_mwh, double gpu_kw);

}  // namespace muster::decide
