// Nodes whose GPUs can be shared, and pods that ask for whole GPUs, a share of one, or none. Amounts are integers: thousandths of
// a core and of a GPU, MiB of memory.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace muster::share {

constexpr int kGpusMax = 16;     // of a node
constexpr int kGpuMilli = 1000;  // a whole GPU
constexpr int kModelsMax = 64;   // GPU models of a cluster
constexpr std::uint64_t kAnyModel = ~std::uint64_t{0};

struct NodeSpec {
  std::int32_t cpu_milli = 0;
  std::int32_t memory_mib = 0;
  int gpus = 0;
  int model = 0;  // of its GPUs, below kModelsMax

  auto operator<=>(const NodeSpec&) const = default;
};

struct PodShape {
  std::int32_t cpu_milli = 0;
  std::int32_t memory_mib = 0;
  int gpus = 0;
  int gpu_milli = 0;                 // of each: 1000, or less for a share of one GPU; 0 without GPUs
  std::uint64_t models = kAnyModel;  // bit m: GPUs of model m will do

  auto operator<=>(const PodShape&) const = default;
  bool shares() const { return gpu_milli > 0 && gpu_milli < kGpuMilli; }
  std::int32_t gpu_milli_total() const { return gpus * gpu_milli; }
};

// Where a pod runs: bit g of `gpus` is GPU g of the node.
struct Spot {
  std::size_t node = 0;
  std::uint32_t gpus = 0;
};

// What a node has left.
struct NodeState {
  std::int32_t cpu_milli = 0;
  std::int32_t memory_mib = 0;
  std::int32_t gpu_milli = 0;  // the sum over its GPUs
  int gpus = 0;
  int model = 0;
  int kind = 0;                                  // nodes of one kind had the same NodeSpec when empty
  std::array<std::int16_t, kGpusMax> free = {};  // of each GPU, in thousandths

  static NodeState empty(const NodeSpec& spec, int kind);
  bool operator==(const NodeState&) const = default;
};

bool fits(const NodeState& node, const PodShape& pod);

// The GPUs the pod would get, if it fits: for a share GPU `gpu`, for whole ones the first that are free.
std::uint32_t gpus_for(const NodeState& node, const PodShape& pod, int gpu);

// Takes the pod's resources away, or gives them back.
void take(NodeState& node, const PodShape& pod, std::uint32_t gpus);
void give_back(NodeState& node, const PodShape& pod, std::uint32_t gpus);

}  // namespace muster::share
