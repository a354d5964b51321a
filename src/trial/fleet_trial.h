// The cause finder and drift, tried on fleets that are known: how often the first guess is right, how often something innocent is
// blamed, beside three ways that people compare slow nodes with healthy ones; and what it takes.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "model/fact_table.h"

namespace muster::trial {

struct FleetTrialOptions {
  std::string what = "all";    // cause, innocent, racks, drift, clean, speed, all
  std::uint32_t fleets = 300;  // of the kind that is promised; of each other kind a third
  std::uint32_t innocent = 1000;
  std::uint64_t seed = 1;
  std::function<double()> cpu_s;  // of this process so far
};

// How slow nodes are diffed against healthy ones elsewhere; slow are those below their kind's median by two deviations.
enum class Baseline : std::uint8_t {
  diff_count,  // the value that most more of the slow nodes have than of as many of the fastest
  rarity,      // the values of slow nodes that are rarest, summed over them
  lift,        // the value that is most more frequent among the slow than in the fleet, on three of them at least
};
constexpr std::array<std::string_view, 3> names(Baseline) { return {"diff-count", "rarity", "slow-flag lift"}; }

struct CauseTried {
  std::string name;
  std::uint32_t nodes = 0, facts = 0, causes = 0, fleets = 0;
  double effect = 0, noise = 0, racks = 0;
  std::uint32_t right = 0;      // the first guess holds a true cause: the first that is named, or, with none, the first candidate
  std::uint32_t named = 0;      // of those, named and not a candidate
  std::uint32_t wrong = 0;      // something else is named first
  std::uint32_t candidate = 0;  // nothing is named, and a candidate is listed
  std::array<std::uint32_t, 3> baseline{};  // right; without a cause: that blame something
  double share(std::uint32_t n) const { return fleets == 0 ? 0 : static_cast<double>(n) / fleets; }
};

struct DriftTried {
  std::uint32_t nodes = 0, facts = 0, seeded = 0, found = 0;
  std::uint32_t alarms = 0;  // on nodes and facts that nobody changed
  double share() const { return seeded == 0 ? 0 : static_cast<double>(found) / seeded; }
};

struct SpeedTried {
  std::uint32_t nodes = 0, facts = 0, permutations = 0, values = 0;
  double explain_cpu_s = 0, drift_cpu_s = 0;
};

struct Bound {
  std::string what;  // "first guess right in at least 95 %"
  bool kept = true;
  bool enough = true;  // fleets to say so: with none that failed, chance alone would not have kept it in more than 5 %
  std::string sample;  // "0 of 1000: at most 0.30 % with 95 % confidence"; empty: it is no share of fleets
};

struct FleetTrial {
  std::uint64_t seed = 0;
  std::vector<CauseTried> causes;
  std::vector<CauseTried> innocent;
  std::vector<CauseTried> racks;  // slow as wholes, and settings that were rolled out by rack and are innocent
  std::vector<DriftTried> clean;  // nothing seeded
  std::vector<DriftTried> drift;
  std::vector<SpeedTried> speed;
  std::vector<Bound> bounds;
};

// The share that is not exceeded with 95 % confidence where `failed` of `fleets` did (Clopper and Pearson, one side).
double at_most_of(std::uint32_t failed, std::uint32_t fleets);

FleetTrial try_fleets(const FleetTrialOptions& options, const FactBook& book);
std::string render_fleet_trial(const FleetTrial& told);
std::string fleet_trial_json(const FleetTrial& told);

}  // namespace muster::trial
