// The node as NCCL sees it: its topology file and its graph file (XML), and the matrix of `nvidia-smi topo -m`.
#pragma once
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/node_wiring.h"

namespace muster {

constexpr std::size_t kTopologyPartsMax = 4096;  // of a file
constexpr std::size_t kGraphsMax = 256;
constexpr std::size_t kMatrixMax = 256;  // rows and columns

bool looks_like_nccl_topology(std::string_view text);
// Errors begin with `file` and the line.
Result<NcclTopology> parse_nccl_topology(std::string_view text, std::string_view file);

bool looks_like_nccl_graph(std::string_view text);
Result<std::vector<NcclGraph>> parse_nccl_graph(std::string_view text, std::string_view file);

bool looks_like_gpu_matrix(std::string_view text);
Result<GpuMatrix> parse_gpu_matrix(std::string_view text, std::string_view file);

}  // namespace muster
