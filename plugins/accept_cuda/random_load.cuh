// Products of random data, which draw as much power as training does: measured as they are, and looked at now and then.
#pragma once
#include "clocks.cuh"
#include "matmul.cuh"

namespace muster_accept {

class RandomLoad {
 public:
  // `number` is bf16 or fp8; normal data, results in bf16. `shape`: see load_shape.
  RandomLoad(Run& run, const Shape& shape);
  void prepare(std::uint64_t seed);
  void product();
  // One product more, held row by row against the first of all; returns rows that differ.
  std::vector<std::uint32_t> compare();
  // What cuBLASLt proposes for them, timed.
  std::vector<Choice> compared() { return matmul_.compared(x_.data(), y_.data(), d_.data(), stream_); }

  cudaStream_t stream() const { return stream_; }
  const Matmul& matmul() const { return matmul_; }

 private:
  std::vector<unsigned long long> hashes();

  Run& run_;
  Stream stream_;
  Matmul matmul_;
  Memory<unsigned char> x_, y_, d_;
  Memory<unsigned long long> hashes_;
  std::vector<unsigned long long> first_;
};

// Whole waves of tiles on all SMs, so that none of them ever waits.
Shape load_shape(const Gpu& gpu, Number number);

}  // namespace muster_accept
