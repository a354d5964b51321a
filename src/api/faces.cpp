#include "api/faces.h"

namespace muster::api {
namespace {

constexpr std::uint32_t kWholeNode = 1u << 31;

struct Marks {
  std::uint32_t lost = 0;     // bits of slots
  std::uint32_t suspect = 0;  // bits of slots, or kWholeNode
};

std::uint32_t bit_of(std::int16_t slot) { return slot >= 0 && slot < 31 ? 1u << slot : kWholeNode; }

// Findings about jobs and the site say nothing about a node.
bool about_hardware(FindingKind k) {
  return k != FindingKind::storage_stall && k != FindingKind::app_error && k != FindingKind::job_failed &&
         k != FindingKind::hearsay && k != FindingKind::common_cause;
}

std::vector<Marks> marks(const State& s) {
  std::vector<Marks> out(s.nodes.size());
  for (const auto& [id, f] : s.findings) {
    if (f.cleared.ns != 0 || f.node.v >= out.size() || !about_hardware(f.kind)) continue;
    if (f.kind == FindingKind::gpu_lost && f.slot >= 0) out[f.node.v].lost |= bit_of(f.slot);
    if (f.severity == Severity::critical) out[f.node.v].suspect |= bit_of(f.slot);
  }
  for (std::size_t n = 0; n < s.nodes.size(); ++n) {
    const Incident* i = find_incident(s, s.nodes[n].incident);
    if (i == nullptr) continue;
    if (i->stage == Stage::opened || i->stage == Stage::draining || i->stage == Stage::emptying) {
      out[n].suspect |= bit_of(i->slot);
    }
  }
  return out;
}

Face face_of(const State& s, const NodeState& n, const Marks& m) {
  const Incident* i = find_incident(s, n.incident);
  if (i != nullptr && (i->stage == Stage::repairing || i->stage == Stage::testing)) return Face::repairing;
  if (n.condition == NodeCondition::down) return Face::down;
  if (n.condition == NodeCondition::booting) return Face::booting;
  if ((n.hold != Hold::none || n.condition == NodeCondition::kept) && !n.busy()) return Face::drained;
  if (m.suspect != 0) return Face::suspect;
  return n.busy() ? Face::busy : Face::idle;
}

Face face_of_gpu(Face node, const NodeState& n, const Marks& m, std::uint32_t slot) {
  if (node == Face::down || node == Face::booting) return node;
  const std::uint32_t bit = 1u << slot;
  if ((m.lost & bit) != 0) return Face::lost;
  if (node != Face::suspect && node != Face::busy) return node;
  if ((m.suspect & (bit | kWholeNode)) != 0) return Face::suspect;
  const bool taken = std::any_of(n.shares.begin(), n.shares.end(), [&](const Share& x) { return (x.slots & bit) != 0; });
  return taken ? Face::busy : Face::idle;
}

}  // namespace

std::vector<JobId> jobs_by_gpu(const State& s) {
  std::vector<JobId> out(s.nodes.size() * s.site.gpus_per_node);
  for (std::size_t n = 0; n < s.nodes.size(); ++n) {
    for (const Share& x : s.nodes[n].shares) {
      for (std::uint32_t slot = 0; slot < s.site.gpus_per_node; ++slot) {
        JobId& job = out[n * s.site.gpus_per_node + slot];
        if ((x.slots >> slot & 1) != 0 && !job.some()) job = x.job;
      }
    }
  }
  return out;
}

bool loses(const State& s, Face face, JobId id) {
  if (face == Face::idle) return !s.queue.empty();
  if (face != Face::busy) return true;
  const Job* job = find_job(s, id);
  return job != nullptr && (job->phase == JobPhase::starting || job->phase == JobPhase::broken);
}

Faces look(const State& s) {
  Faces out;
  const std::vector<Marks> all = marks(s);
  out.nodes.reserve(s.nodes.size());
  out.gpus.reserve(s.nodes.size() * s.site.gpus_per_node);
  for (std::size_t n = 0; n < s.nodes.size(); ++n) {
    const Face node = face_of(s, s.nodes[n], all[n]);
    out.nodes.push_back(node);
    ++out.node_count[static_cast<std::size_t>(node)];
    for (std::uint32_t slot = 0; slot < s.site.gpus_per_node; ++slot) {
      const Face gpu = face_of_gpu(node, s.nodes[n], all[n], slot);
      out.gpus.push_back(gpu);
      ++out.gpu_count[static_cast<std::size_t>(gpu)];
    }
  }
  return out;
}

}  // namespace muster::api
