// Memory at full bandwidth: a block of threads to each tile, several independent accesses of 16 bytes a thread under way at once.
#pragma once
#include "device.cuh"

namespace muster_accept {

template <int kThreads, int kLoads>
struct Tile {
  static constexpr std::uint32_t vectors = kThreads * kLoads;
  static constexpr std::uint32_t bytes = 16 * vectors;
};

// Reads and forgets. The sum is told only in a case that the data do not have, so that the reading cannot be left out.
template <int kThreads, int kLoads, bool kStreaming>
__global__ void __launch_bounds__(kThreads) read_tiles(const uint4* from, std::uint32_t* sink) {
  const uint4* p = from + static_cast<std::size_t>(blockIdx.x) * (kThreads * kLoads) + threadIdx.x;
  uint4 v[kLoads];
#pragma unroll
  for (int i = 0; i < kLoads; ++i) v[i] = kStreaming ? __ldcs(p + i * kThreads) : p[i * kThreads];
  std::uint32_t sum = 0;
#pragma unroll
  for (int i = 0; i < kLoads; ++i) sum |= v[i].x & v[i].y & v[i].z & v[i].w;
  if (sum == 0xFFFFFFFFu) *sink = sum;
}

// Data of which no 32-bit word has its highest bit, about half of all other bits set.
template <int kThreads, int kLoads>
__global__ void __launch_bounds__(kThreads) write_tiles(uint4* to, std::uint32_t seed) {
  uint4* p = to + static_cast<std::size_t>(blockIdx.x) * (kThreads * kLoads) + threadIdx.x;
  std::uint32_t x = (blockIdx.x * kThreads + threadIdx.x + seed) * 0x9E3779B1u;
#pragma unroll
  for (int i = 0; i < kLoads; ++i) {
    x = (x ^ x >> 15) * 0x85EBCA77u + static_cast<std::uint32_t>(i);
    const std::uint32_t w = x & 0x7FFFFFFFu;
    __stcs(p + i * kThreads, make_uint4(w, w ^ 0x55555555u, w ^ 0x33333333u, w ^ 0x0F0F0F0Fu));
  }
}

}  // namespace muster_accept
