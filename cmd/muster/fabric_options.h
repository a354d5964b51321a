// What may be asked about networks, as plain values.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "design/fabric_plan.h"
#include "design/fabric_watch.h"
#include "design/fabrics.h"
#include "predict/congestion.h"
#include "predict/traffic.h"
#include "report/fabric_files.h"
#include "report/format.h"

namespace muster::cmd {

struct DesignFabricOptions {
  design::FabricAsk ask;
};

struct FabricDesignOptions {
  design::FabricPlanAsk ask;
  double dac_m = -1, aec_m = -1, aoc_m = -1;  // below 0: as usual at that speed
  std::string prices;
  std::string folder;  // empty: no files
  bool force = false;
  bool bill = false;
  report::FabricFileWishes wishes;
  report::Format format = report::Format::table;  // table, json or csv
};

enum class TopologyForm : std::uint8_t { slurm, slurm_yaml, k8s };
constexpr std::array<std::string_view, 3> names(TopologyForm) { return {"slurm", "slurm-yaml", "k8s"}; }
struct FabricTopologyOptions {
  std::string net;
  TopologyForm form = TopologyForm::slurm;
  std::uint32_t domain_nodes = 1;  // that share one NVLink domain
};

// The fabric that this machine is plugged into.
struct LiveFabric {
  bool on = false;
  std::string device;      // empty: the first that is up
  std::uint32_t port = 0;  // 0: likewise
};

struct FabricValidateOptions {
  std::string discovered, lldp;  // one of them
  LiveFabric live;               // or this, with links, errors and routes
  std::string design;            // empty: inferred
  std::string links, errors, errors_before, log, routes, jobs;
  double between_s = 0;                           // 0: not told
  report::Format format = report::Format::table;  // table or json
};

struct FabricWatchOptions {
  LiveFabric live;
  std::string command, links_command, errors_command;  // or these: words of programs that print what was found
  std::string design;
  double every_s = 30;
  double window_s = design::FabricWatch::kWindow;
  bool once = false;
  std::string folder;                             // for what stands and what changed; empty: none
  std::string controller;                         // URL or "unix:PATH"; empty: none is told
  std::string token_file;                         // empty: $MUSTER_TOKEN
  std::string name;                               // which of the site's networks it is; empty: it has but one
  report::Format format = report::Format::table;  // table or jsonl
};

struct PredictFabricOptions {
  std::string net;
  std::string routes;  // empty: by a hash
  bool adaptive = false;
  std::uint32_t every = 1;
  std::uint32_t pairs = 100;
  std::uint64_t seed = 1;
  std::uint32_t cut = 0;  // cables between switches
  predict::Conditions conditions;
  report::Format format = report::Format::table;  // table or csv
};

struct PredictCongestionOptions {
  predict::IncastAsk ask;
  bool tune = false;
  report::Format format = report::Format::table;  // table or csv
};

}  // namespace muster::cmd
