// One matrix product by cuBLASLt, by the algorithm that it proposes first: the same one on every GPU of a kind with a version of
// it. What a timing finds to be fastest would be another one from run to run, and rates could not be compared.
#pragma once
#include "device.cuh"

namespace muster_accept {

struct Shape {
  Number number;
  bool wide;  // results of 32 bits (fp32, int32); else bf16
  std::uint32_t rows, columns, depth;

  double flop() const { return 2.0 * rows * columns * depth; }
  std::size_t x_bytes() const { return std::size_t{rows} * depth * kNumberBytes[static_cast<int>(number)]; }
  std::size_t y_bytes() const { return std::size_t{columns} * depth * kNumberBytes[static_cast<int>(number)]; }
  std::size_t d_bytes() const { return std::size_t{rows} * columns * (wide ? 4 : 2); }
};

// D[r][c] = sum over k of X[r][k] * Y[c][k], all three lying row by row.
class Matmul {
 public:
  // Throws CouldNotRun where cuBLASLt is not there, or has no algorithm for this shape.
  Matmul(Run& run, const Shape& shape);
  ~Matmul();
  Matmul(const Matmul&) = delete;
  Matmul& operator=(const Matmul&) = delete;

  // Takes the first proposal, and times it with these data under load; the GPU remembers it for the next run.
  void choose(const void* x, const void* y, void* d, cudaStream_t stream);
  // All proposals in turns, under load; for whoever wonders what the first one costs.
  std::vector<Choice> compared(const void* x, const void* y, void* d, cudaStream_t stream) const;
  void launch(const void* x, const void* y, void* d, cudaStream_t stream) const;

  const Shape shape;
  double seconds() const { return choice_.seconds; }  // of one product, when it was chosen
  double algorithm() const { return choice_.id; }

 private:
  void describe();
  std::vector<Choice> candidates() const;
  double timed(const Choice& c, int products, const void* x, const void* y, void* d, cudaStream_t stream) const;
  void launch(const Choice& choice, const void* x, const void* y, void* d, cudaStream_t stream) const;
  void release();

  Run& run_;
  const Lt& lt_;
  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t x_ = nullptr, y_ = nullptr, d_ = nullptr;
  Memory<unsigned char> workspace_;
  Choice choice_;
};

}  // namespace muster_accept
