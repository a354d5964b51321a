// Normal random data, and hashes over the rows of results that do not depend on the order in which they are read.
#include <cuda_bf16.h>
#include <cuda_fp8.h>

#include "random_load.cuh"

namespace muster_accept {
namespace {

constexpr std::uint32_t kThreads = 256, kWarps = kThreads / 32;

// Two independent numbers of a normal distribution from 64 random bits.
__device__ __forceinline__ float2 normal_pair(std::uint64_t bits) {
  const float u = (static_cast<float>(static_cast<std::uint32_t>(bits) >> 8) + 0.5f) * (1.0f / 16777216.0f);
  const float turn = static_cast<float>(static_cast<std::uint32_t>(bits >> 40)) * (1.0f / 16777216.0f);
  const float radius = sqrtf(-2.0f * logf(u));
  float sine, cosine;
  sincospif(2.0f * turn, &sine, &cosine);
  return make_float2(radius * cosine, radius * sine);
}

// Eight numbers a thread.
template <bool kEightBits>
__global__ void __launch_bounds__(kThreads) make_normal(std::uint32_t* out, std::uint64_t key, std::uint64_t groups) {
  const std::uint64_t at = static_cast<std::uint64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (at >= groups) return;
  float v[8];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 pair = normal_pair(mix(key ^ (at * 4 + static_cast<std::uint64_t>(i))));
    v[2 * i] = pair.x;
    v[2 * i + 1] = pair.y;
  }
  if constexpr (kEightBits) {
    std::uint32_t w[2] = {};
#pragma unroll
    for (int i = 0; i < 8; ++i)
      w[i / 4] |= static_cast<std::uint32_t>(__nv_cvt_float_to_fp8(v[i], __NV_SATFINITE, __NV_E4M3)) << (8 * (i % 4));
    reinterpret_cast<uint2*>(out)[at] = make_uint2(w[0], w[1]);
  } else {
    std::uint32_t w[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      w[i] = static_cast<std::uint32_t>(__bfloat16_as_ushort(__float2bfloat16_rn(v[2 * i]))) |
             static_cast<std::uint32_t>(__bfloat16_as_ushort(__float2bfloat16_rn(v[2 * i + 1]))) << 16;
    }
    reinterpret_cast<uint4*>(out)[at] = make_uint4(w[0], w[1], w[2], w[3]);
  }
}

// A block a row of `vectors` times 16 bytes: the sum of a hash of each 16 bytes and their place.
__global__ void __launch_bounds__(kThreads) hash_rows(const uint4* results, std::uint32_t vectors, unsigned long long* out) {
  __shared__ std::uint64_t parts[kWarps];
  const uint4* row = results + static_cast<std::size_t>(blockIdx.x) * vectors;
  std::uint64_t sum = 0;
  for (std::uint32_t i = threadIdx.x; i < vectors; i += kThreads) {
    const uint4 v = __ldcs(row + i);
    sum += mix((static_cast<std::uint64_t>(v.y) << 32 | v.x) ^ mix((static_cast<std::uint64_t>(v.w) << 32 | v.z) + i));
  }
#pragma unroll
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xFFFFFFFFu, sum, step);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (std::uint32_t w = 1; w < kWarps; ++w) sum += parts[w];
    out[blockIdx.x] = sum;
  }
}

void make(void* out, Number number, std::uint64_t key, std::uint64_t numbers, cudaStream_t stream) {
  const std::uint64_t groups = numbers / 8;
  const auto blocks = static_cast<std::uint32_t>((groups + kThreads - 1) / kThreads);
  auto* words = static_cast<std::uint32_t*>(out);
  if (number == Number::fp8) {
    make_normal<true><<<blocks, kThreads, 0, stream>>>(words, key, groups);
  } else {
    make_normal<false><<<blocks, kThreads, 0, stream>>>(words, key, groups);
  }
  check_launch("making random data");
}

}  // namespace

RandomLoad::RandomLoad(Run& run, const Shape& shape)
    : run_(run), matmul_(run, shape), x_(shape.x_bytes()), y_(shape.y_bytes()), d_(shape.d_bytes()), hashes_(shape.rows) {
  if (shape.wide || (shape.number != Number::bf16 && shape.number != Number::fp8) || shape.columns % 8 != 0)
    throw CouldNotRun{"a shape of random products that is not known"};
}

void RandomLoad::prepare(std::uint64_t seed) {
  const Shape& s = matmul_.shape;
  make(x_.data(), s.number, mix(seed + 11), std::uint64_t{s.rows} * s.depth, stream_);
  make(y_.data(), s.number, mix(seed + 12), std::uint64_t{s.columns} * s.depth, stream_);
  if (matmul_.seconds() <= 0) matmul_.choose(x_.data(), y_.data(), d_.data(), stream_);
  product();
  first_ = hashes();
}

void RandomLoad::product() { matmul_.launch(x_.data(), y_.data(), d_.data(), stream_); }

std::vector<unsigned long long> RandomLoad::hashes() {
  const Shape& s = matmul_.shape;
  hash_rows<<<s.rows, kThreads, 0, stream_>>>(reinterpret_cast<const uint4*>(d_.data()), s.columns / 8, hashes_.data());
  check_launch("the hash of results");
  return copied(run_, hashes_.data(), s.rows, stream_);
}

std::vector<std::uint32_t> RandomLoad::compare() {
  product();
  const std::vector<unsigned long long> now = hashes();
  std::vector<std::uint32_t> out;
  for (std::uint32_t r = 0; r < now.size(); ++r) {
    if (now[r] != first_[r]) out.push_back(r);
  }
  return out;
}

Shape load_shape(const Gpu& gpu, Number number) {
  const std::uint32_t depth = number == Number::fp8 ? 16384 : 8192;
  return {number, false, 128 * gpu.sms(), 8448, depth};
}

}  // namespace muster_accept
