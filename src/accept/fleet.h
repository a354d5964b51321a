// Where each GPU stands among its kind.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "accept/judge.h"
#include "accept/limits.h"

namespace muster::accept {

struct Standing {
  std::string_view metric;  // of metrics()
  double value = 0;
  double percentile = 0;  // share of its kind, in percent, that is not better; 50: the middle
  double share = 0;       // of the median
};

struct FleetGpu {
  std::size_t node = 0;  // index into the recordings
  std::int32_t gpu = 0;
  std::string uuid;
  Verdict verdict = Verdict::pass;
  std::vector<Standing> standings;  // in the order of metrics()
};

struct FleetMetric {
  std::string_view metric;  // of metrics()
  Spread of;
  double least = 0, most = 0;
};

struct FleetKind {
  Cohort cohort;
  std::vector<FleetMetric> metrics;
  std::vector<FleetGpu> gpus;
};

struct Fleet {
  std::vector<Judgement> judgements;  // one a recording, in their order
  std::vector<FleetKind> kinds;
  std::size_t pass = 0, degraded = 0, could_not_run = 0, fail = 0;  // nodes
};

// `limits` must have been made of these recordings, among others.
Fleet fleet_of(std::span<const NodeFigures> nodes, const Limits& limits);

}  // namespace muster::accept
