// Energy by who held the GPUs, in whole millijoules and by quarters of an hour, so that money and carbon of any hour can be laid
// upon it. Power of an idle GPU is its holder's; nobody's where nobody held it. What was measured, the holders' and nobody's
// together, is what the meters said, exactly.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "account/power_curve.h"
#include "model/gpu_hold.h"

namespace muster::account {

constexpr Duration kQuarter = minutes(15);
constexpr std::int64_t quarter_of(Time t) { return t.ns >= 0 ? t.ns / kQuarter.ns : -((-t.ns + kQuarter.ns - 1) / kQuarter.ns); }
constexpr Time quarter_begins(std::int64_t q) { return Time{q * kQuarter.ns}; }

struct EnergyOptions {
  CurveOptions curve;
  double host_w = 350;          // the share of a node without its GPUs that goes with each of them, where no meter says
  std::vector<GpuWatts> watts;  // for GPUs that nobody measured
  std::string gpu_type;         // of runs that do not say
  Time from, to;                // only this stretch; 0: all
};

struct QuarterEnergy {
  Millijoules gpu{};
  std::int64_t host_measured = 0;  // mJ, by a meter of the node
  std::int64_t host_assumed = 0;   // mJ, by EnergyOptions::host_w
  std::int64_t it() const { return sum(gpu) + host_measured + host_assumed; }
  void add(const QuarterEnergy& o);
};

struct RunEnergy {
  std::int64_t first = 0;               // quarter of an hour since 1970
  std::vector<QuarterEnergy> quarters;  // from then on
  std::int64_t gpu_ms = 0;              // held
  std::int64_t apportioned_mj = 0;      // measured, but by its share of GPUs: which of them it had is not known
  double estimate_low_mj = 0;           // what is estimated by the model of GPU, if they had idled all the time
  double estimate_high_mj = 0;          // and if they had run at their limit
  std::int64_t estimate_mj = 0;
  std::int64_t unknown_ms = 0;  // of gpu_ms: not measured, of models that nothing is known of; their energy is not in here
  std::string engine_refused;   // why the engine's figure was not believed; empty: it was, or there was none
  QuarterEnergy total() const;
  QuarterEnergy& at(std::int64_t quarter);
};

// How two ways to measure the same agree, over the time in which both did.
struct Agreement {
  std::string node, gpu;
  double counter_j = 0;
  double sampled_j = 0;
  Duration over;
  bool counter_refused = false;  // they are so far apart that one of them must be wrong: its samples were taken
};

struct EnergyBooks {
  std::vector<RunEnergy> runs;  // as they were given
  RunEnergy nobody;             // GPUs with a meter and no holder
  CurveNotes notes;
  std::uint64_t clashes = 0;              // quarters in which GPUs had more than one holder; they share
  std::uint64_t node_meters_low = 0;      // quarters in which a node's meter said less than its GPUs'
  std::vector<Agreement> agreements;      // by track
  std::vector<std::string> unknown_gpus;  // models of GPU that nothing is known of, and that were needed
  Time begins, ends;                      // of what is in them
};

EnergyBooks energy_of(std::span<const GpuHold> runs, const PowerReadings& readings, const EnergyOptions& options);

// Whether what the engine says a run used can be: why not, or nothing. `idle_w` of one of its GPUs.
std::string doubt_engine(double joules, const GpuHold& run, double idle_w);
// "NVIDIA H200", "h200", "H200 SXM": the row of `watts` that is meant.
const GpuWatts* find_watts(std::span<const GpuWatts> watts, std::string_view gpu);
using muster::short_node;

}  // namespace muster::account
