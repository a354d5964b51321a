// muster capacity: which of its commands.
#include "capacity_options.h"

namespace muster::cmd {
namespace {

struct Dispatch {
  int operator()(const CapacityForecastOptions& o) const { return run_capacity_forecast(o); }
  int operator()(const CapacityReplayOptions& o) const { return run_capacity_replay(o); }
  int operator()(const CapacityProcureOptions& o) const { return run_capacity_procure(o); }
  int operator()(const BenchCapacityOptions& o) const { return run_bench_capacity(o); }
};

}  // namespace

int run_capacity(const CapacityCommand& command) { return std::visit(Dispatch{}, command); }

}  // namespace muster::cmd
