// muster fleet: which of its commands.
#include "fleet_facts.h"
#include "fleet_options.h"

namespace muster::cmd {
namespace {

struct Dispatch {
  int operator()(const FleetProbeOptions& o) const { return run_fleet_probe(o); }
  int operator()(const FleetInventoryOptions& o) const { return run_fleet_inventory(o); }
  int operator()(const FleetCheckOptions& o) const { return run_fleet_check(o); }
  int operator()(const FleetRulesOptions& o) const { return run_fleet_rules(o); }
  int operator()(const FleetDriftOptions& o) const { return run_fleet_drift(o); }
  int operator()(const FleetExplainOptions& o) const { return run_fleet_explain(o); }
  int operator()(const FleetDiffOptions& o) const { return run_fleet_diff(o); }
  int operator()(const FleetProvisionOptions& o) const { return run_fleet_provision(o); }
  int operator()(const FleetUpgradeOptions& o) const { return run_fleet_upgrade(o); }
  int operator()(const FleetEmitOptions& o) const { return run_fleet_emit(o); }
  int operator()(const BenchFleetOptions& o) const { return run_bench_fleet(o); }
};

}  // namespace

int run_fleet(const FleetCommand& command) { return facts_exit(std::visit(Dispatch{}, command)); }

}  // namespace muster::cmd
