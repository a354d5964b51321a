// Where the time between sbatch and a job's first step went, node by node, and what of it is serial: hooks that ran one after the
// other although they began together, or one node that all others waited for.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"

namespace muster::report {

struct NodeStart {
  std::string node;
  Time began, ended;  // of its prolog; 0: not known
  Time launched;      // slurmd was asked for the first step; it waits for the prolog there. 0: not known
};

// All times utc; 0: not known.
struct JobStart {
  std::string job;
  std::uint32_t gpus_per_node = 0;
  Time submitted, eligible, allocated;
  bool allocated_exact = false;  // to the millisecond; else whole seconds
  Time batch;                    // the script began: only its own node's prolog was waited for
  std::vector<NodeStart> nodes;
};

enum class StartOrder : std::uint8_t {
  together,    // prologs ran side by side
  queued,      // began together and ended one after the other: they wait for something that all share
  one_by_one,  // each began when another had ended
};

struct Spread {
  std::size_t nodes = 0;
  double least_s = 0, median_s = 0, most_s = 0;
  std::string last;  // the node that ended last
};

struct StartReport {
  JobStart start;
  double queue_s = -1, to_prolog_s = -1, prolog_s = -1, script_s = -1, step_s = -1;  // below 0: not known
  double total_s = -1;  // from the allocation to the last thing known
  Spread prolog;
  StartOrder order = StartOrder::together;
  double each_s = 0;            // queued, one_by_one: between one node's end and the next one's
  std::uint32_t at_a_time = 1;  // so many at once
  double cost_s = 0;            // what it would save if they ran side by side
  std::string straggler;        // together: a node without which the job had begun `cost_s` sooner
  std::string cause;            // one sentence; empty: nothing is serial
  std::string remedy;
  std::vector<std::string> missing;  // what is not known, and how to have it
};

StartReport explain_start(JobStart start);
std::string render_start(const StartReport& r);
std::string render_start_json(const StartReport& r);

}  // namespace muster::report
