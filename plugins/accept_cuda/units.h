// What the six units of an SM compute in the sweep, and what must come out: the arithmetic that a host can repeat bit by bit, for
// the GPU and for the host alike. The special functions alone have no such answer: their last bits are the chip's own.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "exact.h"

namespace muster_accept {

enum class Unit : std::uint8_t { tensor, fp64, fp32, integer, special, shared };
constexpr int kUnits = 6;
constexpr const char* kUnitNames[kUnits] = {"tensor", "fp64", "fp32", "int", "special", "shared"};

constexpr int kUnitThreads = 512, kUnitWarps = kUnitThreads / 32;
constexpr int kChains = 4;  // independent ones a thread, so that the unit and not its latency is the limit
// So long that the clock's grain does not matter, about 0.6 ms each on an H200.
constexpr int kFp64Steps = 16384, kFp32Steps = 24576, kIntSteps = 8192, kSpecialSteps = 4096, kSharedRounds = 224;
constexpr int kTensorSteps = 4096, kTiles = 16, kTileSide = 16;
// The bits of every value are summed, as the next rounding may forget a wrong one, and after so many steps the sum enters a hash
// in which no two sums are the same.
constexpr int kHashEvery = 8;

// Where a chain begins: in (-1, 1). All warps compute the same, each lane and chain something else.
MUSTER_BOTH std::uint64_t start_of(std::uint64_t seed, Unit unit, std::uint32_t lane, std::uint32_t chain) {
  return mix(mix(seed + static_cast<std::uint64_t>(unit)) ^ (lane * kChains + chain));
}
MUSTER_BOTH double fraction_of(std::uint64_t start) {  // of 20 bits, exact in fp32: in [-1/2, 1/2)
  return static_cast<double>(static_cast<std::int32_t>(start >> 44) - (1 << 19)) * (1.0 / (1 << 20));
}

MUSTER_BOTH std::uint32_t hashed(std::uint32_t hash, std::uint32_t bits) { return (hash ^ bits) * 0x9E3779B1u + 0x7F4A7C15u; }

// x becomes 1 - 1.9375 x * x, which stays in [-1, 1] and never settles.
MUSTER_BOTH float next_of(float x) {
#ifdef __CUDA_ARCH__
  return __fmaf_rn(__fmul_rn(x, x), -1.9375f, 1.0f);
#else
  return std::fma(x * x, -1.9375f, 1.0f);
#endif
}
MUSTER_BOTH double next_of(double x) {
#ifdef __CUDA_ARCH__
  return __fma_rn(__dmul_rn(x, x), -1.9375, 1.0);
#else
  return std::fma(x * x, -1.9375, 1.0);
#endif
}
MUSTER_BOTH std::uint32_t next_of(std::uint32_t x) {
  x = x * 1664525u + 1013904223u;
  return x ^ x >> 15;
}

MUSTER_BOTH std::uint32_t bits_of(float x) {
#ifdef __CUDA_ARCH__
  return __float_as_uint(x);
#else
  std::uint32_t u;
  std::memcpy(&u, &x, sizeof u);
  return u;
#endif
}
MUSTER_BOTH std::uint32_t bits_of(double x) {
  std::uint64_t u;
#ifdef __CUDA_ARCH__
  u = static_cast<std::uint64_t>(__double_as_longlong(x));
#else
  std::memcpy(&u, &x, sizeof u);
#endif
  return static_cast<std::uint32_t>(u) + static_cast<std::uint32_t>(u >> 32);
}
MUSTER_BOTH std::uint32_t bits_of(std::uint32_t x) { return x; }

MUSTER_BOTH void begin(float* x, std::uint64_t start) { *x = static_cast<float>(fraction_of(start)); }
MUSTER_BOTH void begin(double* x, std::uint64_t start) { *x = fraction_of(start); }
MUSTER_BOTH void begin(std::uint32_t* x, std::uint64_t start) { *x = static_cast<std::uint32_t>(start >> 32); }

// What the chains of one lane come to.
template <class T, int kSteps>
MUSTER_BOTH std::uint32_t chains_of(std::uint64_t seed, Unit unit, std::uint32_t lane) {
  static_assert(kSteps % kHashEvery == 0, "whole hashes");
  T x[kChains];
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
  for (int c = 0; c < kChains; ++c) begin(&x[c], start_of(seed, unit, lane, static_cast<std::uint32_t>(c)));
  std::uint32_t hash = lane;
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
  for (int step = 0; step < kSteps; step += kHashEvery) {
    std::uint32_t sum = 0;
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int s = 0; s < kHashEvery; ++s) {
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
      for (int c = 0; c < kChains; ++c) {
        x[c] = next_of(x[c]);
        sum += bits_of(x[c]);
      }
    }
    hash = hashed(hash, sum);
  }
  return hash;
}

// One thread's part of the answer of an SM, which is the sum of all.
MUSTER_BOTH std::uint64_t part_of(std::uint32_t thread, std::uint32_t hash) {
  return mix(static_cast<std::uint64_t>(thread) << 32 | hash);
}

// Shared memory: `words` 32-bit words; in each round every thread writes its words, and reads those of another.
MUSTER_BOTH std::uint32_t word_of(std::uint32_t seed, std::uint32_t word, std::uint32_t round) {
  const std::uint32_t x = (word + seed) * 0x9E3779B1u;
  return (x ^ x >> 15) + round * 0x85EBCA77u;
}
// Words of one warp's reading in a round, four at a time: which stretch of 4 * kUnitThreads words, by which thread, does not
// matter for the sum.
MUSTER_BOTH std::uint32_t looked(std::uint32_t sum, std::uint32_t value, std::uint32_t word) {
  return sum + (value ^ word) * 0xC2B2AE3Du;
}

// Tensor cores: tiles of 16 x 16 odd numbers from -3 to 3. Sums are exact: at most 144 a step.
MUSTER_BOTH std::int32_t tile_number(std::uint64_t seed, Matrix matrix, std::uint32_t tile, std::uint32_t row,
                                     std::uint32_t column) {
  const std::uint64_t h = mix(mix(seed + 77 + static_cast<std::uint64_t>(matrix)) ^ (tile << 16 | row << 8 | column));
  return number_of(static_cast<std::uint32_t>(h >> 40) & 255u, 3);
}
// Which tiles a warp multiplies in a step: two of X, and two of Y that stay for sixteen steps; four sums.
MUSTER_BOTH std::uint32_t tile_x(int step, int i) { return static_cast<std::uint32_t>(step + 5 * i) % kTiles; }
MUSTER_BOTH std::uint32_t tile_y(int step, int j) { return static_cast<std::uint32_t>(step / 16 + 3 * j) % kTiles; }

// ---- What must come out, on the host.

template <class T, int kSteps>
std::uint64_t chains_answer(std::uint64_t seed, Unit unit) {
  std::uint64_t sum = 0;
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    const std::uint32_t hash = chains_of<T, kSteps>(seed, unit, lane);
    for (std::uint32_t t = lane; t < kUnitThreads; t += 32) sum += part_of(t, hash);
  }
  return sum;
}

inline std::uint64_t shared_answer(std::uint64_t seed, std::uint32_t words) {
  const auto short_seed = static_cast<std::uint32_t>(mix(seed + 5));
  std::uint32_t sum = 0;
  for (std::uint32_t round = 0; round < kSharedRounds; ++round) {
    for (std::uint32_t w = 0; w < words; ++w) sum = looked(sum, word_of(short_seed, w, round), w);
  }
  return mix(sum);
}

// Sums of element (row, column) of the four accumulators of a warp, hashed with their place as the kernel does.
inline std::uint64_t tensor_answer(std::uint64_t seed) {
  std::vector<std::int32_t> x(kTiles * 256), y(kTiles * 256);
  for (std::uint32_t i = 0; i < kTiles * 256u; ++i) {
    x[i] = tile_number(seed, Matrix::x, i / 256, i / 16 % 16, i % 16);
    y[i] = tile_number(seed, Matrix::y, i / 256, i / 16 % 16, i % 16);
  }
  std::uint64_t sum = 0;
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      std::vector<std::int32_t> times(kTiles * kTiles);
      for (int step = 0; step < kTensorSteps; ++step) ++times[tile_x(step, i) * kTiles + tile_y(step, j)];
      std::vector<std::int64_t> d(256);
      for (int pair = 0; pair < kTiles * kTiles; ++pair) {
        if (times[static_cast<std::size_t>(pair)] == 0) continue;
        const std::int32_t* a = &x[static_cast<std::size_t>(pair / kTiles * 256)];
        const std::int32_t* b = &y[static_cast<std::size_t>(pair % kTiles * 256)];
        for (int e = 0; e < 256; ++e) {
          std::int64_t product = 0;
          for (int k = 0; k < 16; ++k) product += a[e / 16 * 16 + k] * b[k * 16 + e % 16];
          d[static_cast<std::size_t>(e)] += times[static_cast<std::size_t>(pair)] * product;
        }
      }
      for (std::uint32_t e = 0; e < 256; ++e) {
        const float result = static_cast<float>(d[e]);
        sum += part_of(static_cast<std::uint32_t>(2 * i + j) * 256 + e, bits_of(result));
      }
    }
  }
  return sum * kUnitWarps;  // all warps the same
}

}  // namespace muster_accept
