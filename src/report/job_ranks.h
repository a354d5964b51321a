// The ranks of a job side by side: what each GPU last read against the median of its gang, the odd ones first; and where its
// nodes lie, with the certificate of its placement counted again.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/json_writer.h"
#include "base/value.h"
#include "model/state.h"

namespace muster::report {

// Newest readings of one GPU; below 0: none.
struct RankReading {
  float sm_clock_mhz = -1;
  float temp_c = -1;
  float power_w = -1;
  float util_pct = -1;
  float tensor_active = -1;  // 0 to 1
  float collective_us = -1;  // mean time in its job's collectives
};

struct RankRow {
  std::uint32_t rank = 0;
  NodeId node;
  std::uint32_t slot = 0;
  RankReading read;
  double behind = -1;  // in median absolute deviations, the worst of what is judged; below 0: not known
  std::string why;     // what makes it so
};

struct Usual {
  double median = 0;
  double spread = 0;  // median absolute deviation, at least the grain of the sensor
  std::size_t known = 0;
};

struct RankTable {
  std::vector<RankRow> ranks;  // in their order: node by node as placed, GPU by GPU
  Usual clock, temp, power, util, tensor, collective;
  double power_w = 0;    // of those that are known
  std::size_t read = 0;  // ranks with any reading
};
constexpr double kBehindMost = 6;         // where the scale ends, and a rank stands out
constexpr std::size_t kRankRows = 64;     // told one by one
constexpr std::size_t kRankPeersMin = 8;  // fewer say little about what is usual

// `readings`: of the whole site, node times GPUs of a node plus slot; may be empty.
RankTable study_ranks(const State& s, const Job& j, std::span<const RankReading> readings);

// {job attempt ranks read usual letters nodes rows power_w power_known judged unjudged placement}: `letters` has one of 64 per
// rank as the map's values have, '-' where nothing is known; `nodes` is [[name, GPUs]...].
std::string job_ranks_json(const State& s, const Job& j, std::span<const RankReading> readings);
// A few lines for a terminal, of the JSON above; empty where no rank stands out.
std::string say_job_ranks(const Value& ranks);

}  // namespace muster::report
