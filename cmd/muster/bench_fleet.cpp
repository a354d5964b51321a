// muster bench fleet: drift and causes on simulated fleets, where it is known what is to be found.
#include <ctime>

#include "fleet_options.h"
#include "ingest/fact_book.h"
#include "say.h"
#include "trial/fleet_trial.h"

namespace muster::cmd {

int run_bench_fleet(const BenchFleetOptions& o) {
  constexpr int kBoundsNotKept = 6;
  trial::FleetTrialOptions options;
  options.what = o.what;
  options.fleets = o.fleets;
  options.innocent = o.innocent;
  options.seed = o.seed;
  options.cpu_s = [] { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; };
  const trial::FleetTrial told = trial::try_fleets(options, fact_book());
  put(o.format == report::Format::json ? trial::fleet_trial_json(told) : trial::render_fleet_trial(told));
  const int output = finish_output();
  const bool kept = std::all_of(told.bounds.begin(), told.bounds.end(), [](const trial::Bound& b) { return b.kept; });
  return output != 0 ? output : kept ? 0 : kBoundsNotKept;
}

}  // namespace muster::cmd
