#include "decide/share/node.h"

#include "base/check.h"

namespace muster::share {

NodeState NodeState::empty(const NodeSpec& spec, int kind) {
  MUSTER_CHECK(spec.gpus >= 0 && spec.gpus <= kGpusMax && spec.model >= 0 && spec.model < kModelsMax);
  NodeState s;
  s.cpu_milli = spec.cpu_milli;
  s.memory_mib = spec.memory_mib;
  s.gpu_milli = spec.gpus * kGpuMilli;
  s.gpus = spec.gpus;
  s.model = spec.model;
  s.kind = kind;
  for (int g = 0; g < spec.gpus; ++g) s.free[static_cast<std::size_t>(g)] = kGpuMilli;
  return s;
}

bool fits(const NodeState& node, const PodShape& pod) {
  if (node.cpu_milli < pod.cpu_milli || node.memory_mib < pod.memory_mib) return false;
  if (pod.gpus == 0) return true;
  if ((pod.models >> node.model & 1) == 0 || node.gpu_milli < pod.gpu_milli_total()) return false;
  int found = 0;
  for (int g = 0; g < node.gpus; ++g) {
    if (node.free[static_cast<std::size_t>(g)] >= pod.gpu_milli && ++found == pod.gpus) return true;
  }
  return false;
}

std::uint32_t gpus_for(const NodeState& node, const PodShape& pod, int gpu) {
  if (pod.gpus == 0) return 0;
  if (pod.shares()) return std::uint32_t{1} << gpu;
  std::uint32_t chosen = 0;
  int missing = pod.gpus;
  for (int g = 0; g < node.gpus && missing > 0; ++g) {
    if (node.free[static_cast<std::size_t>(g)] < kGpuMilli) continue;
    chosen |= std::uint32_t{1} << g;
    --missing;
  }
  MUSTER_CHECK(missing == 0);
  return chosen;
}

void take(NodeState& node, const PodShape& pod, std::uint32_t gpus) {
  node.cpu_milli -= pod.cpu_milli;
  node.memory_mib -= pod.memory_mib;
  node.gpu_milli -= pod.gpu_milli_total();
  MUSTER_CHECK(node.cpu_milli >= 0 && node.memory_mib >= 0);
  for (int g = 0; g < node.gpus; ++g) {
    if ((gpus >> g & 1) == 0) continue;
    auto& free = node.free[static_cast<std::size_t>(g)];
    free = static_cast<std::int16_t>(free - pod.gpu_milli);
    MUSTER_CHECK(free >= 0);
  }
}

void give_back(NodeState& node, const PodShape& pod, std::uint32_t gpus) {
  node.cpu_milli += pod.cpu_milli;
  node.memory_mib += pod.memory_mib;
  node.gpu_milli += pod.gpu_milli_total();
  for (int g = 0; g < node.gpus; ++g) {
    if ((gpus >> g & 1) == 0) continue;
    auto& free = node.free[static_cast<std::size_t>(g)];
    free = static_cast<std::int16_t>(free + pod.gpu_milli);
    MUSTER_CHECK(free <= kGpuMilli);
  }
}

}  // namespace muster::share
