// The nouns as JSON, with the field names of docs/api.md. Absent times and slots are null, no job is "", no incident is 0.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "api/faces.h"
#include "base/json_writer.h"
#include "base/result.h"
#include "ports/view.h"

namespace muster::api {

// One snapshot and what was derived from it.
struct Frame {
  const Snapshot& snapshot;
  const Faces& faces;
  const State& state() const { return snapshot.state; }
};

using Query = std::map<std::string, std::string>;

Result<std::string> render_nodes(const Frame& f, const Query& q);
Result<std::string> render_node(const Frame& f, const std::string& name);
Result<std::string> render_gpus(const Frame& f, const Query& q);
Result<std::string> render_jobs(const Frame& f, const Query& q);
Result<std::string> render_job(const Frame& f, const std::string& id);
Result<std::string> render_queues(const Frame& f, const Query& q);
Result<std::string> render_queue(const Frame& f, const std::string& name);
// What has come of a command: pending, done (with the jobs it made) or refused.
Result<std::string> render_command(const Frame& f, const std::string& id);
Result<std::string> render_findings(const Frame& f, const Query& q);
Result<std::string> render_incidents(const Frame& f, const Query& q);
Result<std::string> render_incident(const Frame& f, const std::string& id);
Result<std::string> render_actions(const Frame& f, const Query& q);

std::string render_summary(const Frame& f);
// What changes on the map, apart from what never does: names and racks.
struct MapCells {
  std::uint64_t seq = 0;
  std::string letters;                   // one a GPU
  std::vector<std::string> jobs;         // by node
  std::vector<std::uint64_t> incidents;  // by node
};
MapCells map_cells(const Frame& f);
std::string render_map(const Frame& f, const MapCells& cells);
// Only the nodes that differ: {"seq","since","nodes":[[index,"letters","job",incident]...]}.
std::string render_map_changes(const MapCells& before, const MapCells& now, std::uint32_t gpus_per_node);
// One value per GPU, for the colours of the map: each a letter of 64, from the lowest to the highest.
Result<std::string> render_map_values(const Frame& f, const Query& q);

// The map's figures that are no readings, as numbers: node * gpus_per_node + slot. Not a number: unknown.
struct GpuFigures {
  std::vector<float> peers;   // median absolute deviations
  std::vector<float> risk;    // of 100
  std::vector<float> losing;  // in an hour, in `unit`
  std::string unit;           // "USD/h", "GPU-h/h"
};
GpuFigures gpu_figures(const Frame& f);

// The network: leaves by rails; the bad links, or all of a leaf or a job.
Result<std::string> render_fabric(const Frame& f, const Query& q);

// "17" or "17_3"; not_found for anything else.
Result<JobId> parse_job_id(std::string_view text);
// not_found, with the truth about what is remembered.
tl::unexpected<Error> unknown_job(const State& s, JobId id);
// not_found, with the nearest name there is.
Result<NodeId> find_node_named(const Site& site, std::string_view name);

}  // namespace muster::api
