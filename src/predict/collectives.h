// How long a collective operation takes: between the sizes that were measured in the same set-up by a curve through them, and
// elsewhere by what the links could carry and what exchanges of that kind get of it.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/collective.h"
#include "model/gpu_model.h"

namespace muster::predict {

// start + knee * sqrt(start * carry) + carry, where carry is the bytes over the rate: the middle is the sizes at which neither of
// the two is hidden by the other. Two straight lines (the usual alpha-beta) are 17 % off where this is 8.
struct CollectiveCurve {
  double start_s = 0;
  double bytes_per_s = 1;  // of the operation's own bytes
  double knee = 0;

  double at(double bytes) const;
};

// Through measured times of one way, seconds by bytes; at least one, in any order.
CollectiveCurve fit_collective_curve(std::span<const std::pair<double, double>> times_s);

// One way to do it: the algorithm and the protocol, and what the links could carry at most under it, in nccl-tests' bus
// bandwidth; the slower of the two, when each gets its share of that, is what it gets.
struct CollectiveWay {
  std::string_view algorithm, protocol;  // as NCCL calls them
  double start_us = 0;                   // of the smallest, by NCCL's own table
  std::string near;                      // CollectiveClass::name: within an NVLink domain
  double near_gb_s = 0;
  std::string far;  // between domains; empty: there is one
  double far_gb_s = 0;

  double most_gb_s() const { return far.empty() ? near_gb_s : far_gb_s < near_gb_s ? far_gb_s : near_gb_s; }
};
// The one that could be fastest first; none: one GPU, or nothing known that joins them. `fabric_share` of the network cards' rate
// is what the switches let through; with `in_network` they add up (SHARP).
std::vector<CollectiveWay> collective_ways(const CollectiveSetup& setup, const GpuModel& gpu, double fabric_share = 1,
                                           bool in_network = false);

struct CollectivePrediction {
  double s = 0, low_s = 0, high_s = 0;
  double bus_gb_s = 0;
  bool calibrated = false;                      // the same set-up was measured at other sizes
  std::string by;                               // the site, or the class
  std::string_view algorithm, protocol, limit;  // empty where it was measured: the site's own choice

  CollectivePrediction times(double slower) const;
};

// Rows are two of three where some are kept back to see how well it went: by a hash of the set-up and the size.
bool teaches(const CollectiveRow& row);

std::vector<CollectiveClass> fit_collective_classes(std::span<const CollectiveRow> rows, std::span<const GpuModel> gpus);

class Collectives {
 public:
  // All must outlive it.
  Collectives(std::span<const CollectiveRow> rows, std::span<const CollectiveClass> classes, std::span<const GpuModel> gpus,
              const CollectiveSpread& spread);

  // Of the row, its time is not looked at. None: neither was it measured nor is its GPU known.
  std::optional<CollectivePrediction> predict(const CollectiveRow& row, double fabric_share = 1) const;
  // By the links alone.
  CollectivePrediction by_way(const CollectiveWay& way, const CollectiveSetup& setup, double bytes) const;

 private:
  std::optional<CollectivePrediction> measured(const CollectiveRow& row) const;
  // How much slower than the links promise it was where other numbers of the same GPUs were measured on the same network.
  double as_neighbours(const CollectiveRow& row) const;
  std::optional<CollectivePrediction> by_links(const CollectiveSetup& setup, double bytes, double fabric_share) const;

  std::span<const CollectiveRow> rows_;
  std::span<const CollectiveClass> classes_;
  std::span<const GpuModel> gpus_;
  CollectiveSpread spread_;
};

// How far off it is for each of the rows when that row was not there: the same set-up but another size, and the same but another
// site.
CollectiveSpread collective_spread(std::span<const CollectiveRow> rows, std::span<const GpuModel> gpus);

}  // namespace muster::predict
