// What is wrong with a fabric or with how NCCL uses it, from logs, tables of nccl-tests, topology files, lspci, counters and
// settings together: each verdict with its cause, its evidence, what to do and how to prove it.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "diagnose/fabric_doctor_signs.h"
#include "diagnose/finding.h"
#include "diagnose/nccl_bandwidth.h"
#include "model/nccl_bench.h"
#include "model/nccl_run.h"
#include "model/node_wiring.h"
#include "model/roce.h"
#include "predict/congestion.h"

namespace muster::diagnose {

struct DoctorMaterial {
  NcclLog log;                  // of all logs; its settings also those of environments
  std::vector<SeenSign> signs;  // of the same
  std::vector<NcclTestLog> benches;
  std::vector<Finding> slow;  // what find_in_runs says of them
  std::vector<PciPort> ports;
  std::vector<NcclTopology> topologies;
  std::vector<NcclGraph> graphs;
  std::vector<GpuMatrix> matrices;
  std::vector<PortErrors> errors;
  std::vector<RoceSettings> roce;
  std::vector<RoceCounters> counters;  // the later of two readings of a card behind the earlier
  double between_s = 0;                // two readings; 0: not told
};

// What the flow model says of settings of a lossless Ethernet, and of those that it proposes instead. A model, not a measurement.
struct RoceForecast {
  predict::IncastAsk now, proposed;
  predict::IncastFigures now_figures, proposed_figures;
  bool xoff_told = true;    // false: from where ports pause is a guess, and so is what is proposed from it
  bool now_orderly = true;  // false: no mark acts as this is set, so that pauses alone are played
  std::string why;          // no mark acts
  bool by_fix = false;      // what is proposed is what the verdicts' fix says, and not a search for the soonest end
};

struct Examination {
  std::vector<Finding> verdicts;  // what is nearest to the root first; empty: unknown
  std::vector<Finding> advice;    // worth a look, and no cause of failure by itself
  std::vector<std::string> looked_for;
  std::optional<RoceForecast> forecast;
};

// `gpus` and `hint` as for find_in_nccl_log.
Examination examine(const DoctorMaterial& material, std::span<const GpuModel> gpus, const NcclHint& hint);

// The parts of it, and how each begins a finding.
Finding doctor_finding(std::string_view cause, std::string title, Confidence confidence);
std::vector<Finding> check_wiring(const DoctorMaterial& material);
std::vector<Finding> check_tables(const DoctorMaterial& material);
std::vector<Finding> check_roce(const DoctorMaterial& material);
std::vector<Finding> check_counters(const DoctorMaterial& material);
std::optional<RoceForecast> forecast_roce(std::span<const RoceSettings> settings);

// Kept by a port for what still arrives after it asked for a pause: both ways of the cable (5 ns a metre), two largest packets,
// and 2 us to react, of which 802.3 allows a port 1.2 to 2.0 by its speed.
double headroom_needed_kb(double line_gb_s, double cable_m, double mtu_b);

}  // namespace muster::diagnose
