// A fleet's acceptance as one page and as JSON: which nodes are not PASS and why, how each figure is spread over the GPUs of a
// kind, where every GPU stands.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "accept/fleet.h"
#include "model/gpu_model.h"

namespace muster::report {

struct AcceptedFleet {
  std::span<const Acceptance> recordings;
  const accept::Fleet& fleet;  // of these recordings
  const accept::Limits* limits = nullptr;
  std::string name;                                              // of the cluster, or where the recordings are; untrusted
  std::function<const GpuModel*(std::string_view model)> sheet;  // by what the driver calls it; empty: no data sheets
  std::span<const std::string> left_out = {};                    // recordings that could not be read, and why
  std::size_t older = 0;                                         // recordings of these nodes that only limits are made of
};

// "FAIL 3, COULD NOT RUN 1, DEGRADED 2, PASS 994 of 1,000 nodes (8,000 GPUs)"
std::string accept_fleet_sentence(const AcceptedFleet& f);
std::string render_accept_fleet(const AcceptedFleet& f, bool colour);  // that, and the nodes that are not PASS
std::string accept_fleet_page(const AcceptedFleet& f);
std::string accept_fleet_json(const AcceptedFleet& f);

// What all of them use: nodes by index, the worst first; GPUs of all kinds; what a kind is held to in a figure.
std::vector<std::size_t> nodes_not_pass(const accept::Fleet& f);
std::size_t gpus_of(const accept::Fleet& f);
std::optional<accept::Limit> fleet_limit(const AcceptedFleet& f, const accept::Cohort& kind, const accept::Metric& m);

}  // namespace muster::report
