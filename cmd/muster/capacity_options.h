// Of `muster capacity` and what stands below it, and of `muster bench capacity`.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/time.h"
#include "report/format.h"

namespace muster::cmd {

enum class ProgressMode;

// A server of eight H200 draws 10.2 kW.
constexpr double kKwOfGpu = 10.2 / 8;

// Where capacity ends.
struct CapacityLimits {
  std::uint64_t gpus = 0;  // there now; 0: not said
  std::uint32_t gpus_per_node = 8;
  double full_pct = 90;  // of the GPUs: above that queues grow
  std::optional<std::uint64_t> racks_free;
  std::uint32_t nodes_per_rack = 4;
  std::optional<double> kw_free;
  std::optional<double> kw_per_node;  // none: as eight H200 draw, by the GPUs
  double node_kw() const { return kw_per_node.value_or(kKwOfGpu * gpus_per_node); }
  std::optional<double> quota_gpu_hours;  // left
};

struct CapacityForecastOptions {
  std::string trace;
  std::uint64_t horizon_days = 28;
  CapacityLimits limits;
  double growth = 0;  // a year, besides what the history says
  std::string svg;
  report::Format format = report::Format::table;  // table, json or csv
};

// "8:1h:90": nine in ten jobs of 8 GPUs or fewer begin within an hour.
struct TargetWish {
  std::uint32_t gpus_max = 0;
  double wait_s = 0;
  double pct = 90;
};

struct CapacityReplayOptions {
  std::string trace;
  std::uint32_t gpus = 0;  // or a cluster
  std::string cluster;
  std::vector<TargetWish> targets;  // empty: those of the file, else the usual ones
  std::string targets_file;
  std::vector<double> growths = {1};     // 0: drift
  std::vector<std::uint32_t> nodes_add;  // shown besides those that the search tries
  std::uint32_t nodes_max = 0;           // 0: as many as there are
  double wanted_pct = 90;
  std::uint32_t draws = 40, weeks = 4;
  std::uint64_t seed = 1;
  double sigma = 1;
  bool counts = false, pauses = false, held_out = false;
  std::optional<double> node_usd_year;
  std::string gpu;  // whose price it is, where none is given; empty: the cluster's, else h200
  std::string svg;
  report::Format format = report::Format::table;  // table, json or csv
  ProgressMode progress{};
};

struct CapacityProcureOptions {
  std::uint32_t nodes_add = 0;
  std::string gpu = "h200";
  std::string trace;  // for the date on which the cluster is full
  CapacityLimits limits;
  double growth = 0;
  std::uint64_t horizon_days = 365;
  std::optional<Time> need_by, today;
  double install_weeks = 4;
  std::string prices, terms;                      // files; empty: those that ship
  report::Format format = report::Format::table;  // table, json or csv
};

struct BenchCapacityOptions {
  std::string trace;
  std::uint32_t gpus = 800;
  std::uint32_t draws = 24;
  std::uint64_t seed = 1;
  report::Format format = report::Format::table;  // table or json
  ProgressMode progress{};
};

using CapacityCommand =
    std::variant<CapacityForecastOptions, CapacityReplayOptions, CapacityProcureOptions, BenchCapacityOptions>;

int run_capacity(const CapacityCommand& command);
int run_capacity_forecast(const CapacityForecastOptions& options);
int run_capacity_replay(const CapacityReplayOptions& options);
int run_capacity_procure(const CapacityProcureOptions& options);
int run_bench_capacity(const BenchCapacityOptions& options);

}  // namespace muster::cmd
