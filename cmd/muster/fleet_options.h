// Of `muster fleet` and what stands below it, and of `muster bench fleet`.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "connection.h"
#include "model/upgrade.h"
#include "report/format.h"

namespace muster::cmd {

// Facts of nodes, and where they are taken from.
struct FactsChoice {
  std::vector<std::string> files;  // or folders, or "-"
  std::vector<std::string> set;    // "slurm.slurmctld=25.05.2", "gpu001:bmc.version=25.06.27": what nobody can read, by hand
};

// Files for other programs, so that they show and collect what Muster uses, or bring nodes to what they should be.
enum class EmittedFile { prometheus, grafana, dcgm_counters, slurm, ansible, cloud_init, goss, tfvars, redfish };
constexpr std::array<std::string_view, 9> names(EmittedFile) {
  return {"prometheus", "grafana", "dcgm-counters", "slurm", "ansible", "cloud-init", "goss", "tfvars", "redfish"};
}
struct FleetEmitOptions {
  EmittedFile what = EmittedFile::prometheus;
  std::string out;      // file, of slurm, ansible, cloud-init and goss a folder; empty: stdout
  std::string cluster;  // preset or file: of slurm, and of those below, which try a change in each NVLink domain first
  // Of slurm alone; empty: not given.
  std::string partition, hardware, folder, heartbeat;  // report::SlurmWishes
  // Of those that bring nodes to what they should be: the difference comes from these.
  FactsChoice facts;
  std::string declared;  // file with values that hold; empty: what most nodes of a kind have
};

// What this node is and runs, read once.
struct FleetProbeOptions {
  std::vector<std::string> set;
  std::string root;   // a folder that stands for /; empty: none
  std::string node;   // empty: the host's name
  bool nvml = false;  // ask the GPUs' driver too, which opens them
  std::string nvml_library;
  double cpu_s = 0.004;                           // that it may use; what is left out then is the search in the memory of jobs
  bool list = false;                              // what can be known, and how it is read
  bool cost = false;                              // what reading it took, on stderr
  report::Format format = report::Format::jsonl;  // jsonl (one line a node, for the other commands), table, json
};

struct FleetInventoryOptions {
  FactsChoice facts;
  std::string agents;       // where agents are asked for /facts: a list (ingest/agent_list.h), or @FILE
  std::string ssh, srun;    // node lists; asked by running `muster fleet probe` there
  std::string program;      // muster on those nodes; empty: a copy of this one is sent
  std::string ssh_options;  // handed to ssh as they are
  std::uint32_t at_once = 32;
  double deadline_s = 30;
  std::string out;                                // file that all of it is written to; empty: none
  bool fingerprints = false;                      // by layer, and who shares them
  std::string against;                            // with it: facts of what the next boot brings; who would change
  report::Format format = report::Format::table;  // table, wide, json, jsonl, csv
};

struct FleetCheckOptions {
  FactsChoice facts;
  std::string rules;              // file of a site's own, besides those that ship
  std::vector<std::string> only;  // ids
  std::string least = "warn";     // severity that is shown: error, warn or info
  std::string today;              // "2026-11-19"; empty: the newest facts' day
  std::string performance;        // file with what nodes were measured at: settings rise above info by it
  std::string jobs;               // lists of nodes that one job spans, a line each; empty: a job may span all of a kind
  bool unknown = false;           // list too what could not be judged, and what is missing for it
  report::Format format = report::Format::table;  // table, json, jsonl, csv
};

struct FleetRulesOptions {
  std::string id;                                 // empty: all
  std::string rules;                              // a site's own, besides
  std::string import;                             // NVIDIA's releases.json: print rules made of it
  report::Format format = report::Format::table;  // table, wide, json, csv
};

struct FleetDriftOptions {
  FactsChoice facts;
  std::string declared;
  double share = 0.8;                             // of a cohort that must agree before its value counts as what it should be
  std::vector<std::string> nodes;                 // lists; only these
  bool all = false;                               // what changes by itself too: link speeds now, states of ports
  report::Format format = report::Format::table;  // table, json, jsonl, csv
};

struct FleetExplainOptions {
  FactsChoice facts;
  std::string performance;
  std::uint32_t permutations = 1000;
  double alpha = 0.01;
  double least_effect_pct = 0.3;
  std::uint64_t seed = 1;
  report::Format format = report::Format::table;  // table, json
};

struct FleetDiffOptions {
  enum class What { nodes, jobs } what = What::nodes;
  std::string a, b;     // nodes, or files; jobs
  FactsChoice facts;    // of nodes
  std::string journal;  // of jobs: a recorded history; empty: the running Muster is asked
  Connection connection;
  bool all = false;                               // what is the same too
  report::Format format = report::Format::table;  // table, json
};

struct FleetProvisionOptions {
  enum class What { files, join, check } what = What::files;
  std::string cluster;                // preset or file; a design's
  std::string out;                    // folder
  std::vector<std::string> ssh_keys;  // files of public keys: who may log in
  // join: is a new node fit to join?
  FactsChoice facts;
  std::string node, declared, acceptance;  // acceptance: a recording of it
  std::string today;                       // "2026-11-19", to its end; empty: now
  std::vector<std::string> user_data;      // check: files
  report::Format format = report::Format::table;
};

// A rolling upgrade by the rules: what goes first, who is tried first, who may be away together.
struct FleetUpgradeOptions {
  FactsChoice facts;
  std::string cluster;          // preset or file: racks and NVLink domains
  std::vector<std::string> to;  // "driver=580.159.04"
  std::string nodes;            // only these
  std::string rules;
  std::string jobs;  // jobs of now; empty: the running Muster is asked
  std::string today;  // "2026-11-19", to its end; empty: now
  bool allow_downgrade = false;
  bool start = false;  // hand it to the controller
  bool yes = false;
  std::string reason;
  Connection connection;
  UpgradeSpec spec;                               // watch, at_once_pct, finish_in
  std::string out;                                // file the plan is written to; empty: none
  report::Format format = report::Format::table;  // table, json
};

// The cause finder, drift and rules on simulated fleets.
struct BenchFleetOptions {
  std::string what = "all";    // cause, innocent, racks, drift, clean, speed, all
  std::uint32_t fleets = 300;  // of the kind that is promised; of each other a third
  std::uint32_t innocent = 1000;
  std::uint64_t seed = 1;
  report::Format format = report::Format::table;
};

using FleetCommand = std::variant<FleetProbeOptions, FleetInventoryOptions, FleetCheckOptions, FleetRulesOptions,
                                  FleetDriftOptions, FleetExplainOptions, FleetDiffOptions, FleetProvisionOptions,
                                  FleetUpgradeOptions, FleetEmitOptions, BenchFleetOptions>;

int run_fleet(const FleetCommand& command);
int run_fleet_probe(const FleetProbeOptions& options);
int run_fleet_inventory(const FleetInventoryOptions& options);
int run_fleet_check(const FleetCheckOptions& options);
int run_fleet_rules(const FleetRulesOptions& options);
int run_fleet_drift(const FleetDriftOptions& options);
int run_fleet_explain(const FleetExplainOptions& options);
int run_fleet_diff(const FleetDiffOptions& options);
int run_fleet_diff_jobs(const FleetDiffOptions& options);
int run_fleet_provision(const FleetProvisionOptions& options);
int run_fleet_upgrade(const FleetUpgradeOptions& options);
int run_fleet_emit(const FleetEmitOptions& options);
int run_bench_fleet(const BenchFleetOptions& options);

}  // namespace muster::cmd
