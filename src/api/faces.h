// How nodes and GPUs look from outside: one word each, derived from everything the state knows about them.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "model/state.h"

namespace muster::api {

enum class Face : std::uint8_t { busy, idle, suspect, repairing, drained, down, booting, lost };
constexpr std::array<std::string_view, 8> names(Face) {
  return {"busy", "idle", "suspect", "repairing", "drained", "down", "booting", "lost"};
}
constexpr std::size_t kFaces = names(Face{}).size();
// The map's letter. A booting node's GPUs are down to whoever wants one.
constexpr char letter(Face f) { return "bisrdxxl"[static_cast<std::size_t>(f)]; }

struct Faces {
  std::vector<Face> nodes;                     // never `lost`
  std::vector<Face> gpus;                      // node * gpus_per_node + slot
  std::array<std::uint32_t, kFaces> gpu_count{};
  std::array<std::uint32_t, kFaces> node_count{};
  std::uint32_t count(Face f) const { return gpu_count[static_cast<std::size_t>(f)]; }
};

// The first job on each GPU, which others may share: node * gpus_per_node + slot.
std::vector<JobId> jobs_by_gpu(const State& s);
// Whether an hour of a GPU that looks so, and has this job, is lost now: out of service or suspect, idle while jobs wait, or held
// by a job that starts or is broken.
bool loses(const State& s, Face face, JobId job);

// A node under repair or test is repairing, whatever else; else down or booting; else suspect while an incident is being handled
// and its job still runs, drained once held; else suspect for an open critical finding; else busy or idle. A finding that names a
// slot makes that GPU suspect and leaves its neighbours as they are.
Faces look(const State& s);

}  // namespace muster::api
