// How long one kernel takes on a GPU: a roofline whose compute side knows tiles and waves.
#pragma once
#include "model/calibration.h"
#include "model/gpu_model.h"

namespace muster::predict {

// A GPU with what its software gets of it, in plain rates.
struct Engine {
  const GpuModel* gpu = nullptr;
  const Calibration* calibration = nullptr;
  Dtype dtype = Dtype::bf16;

  double peak() const { return gpu->peak(dtype); }
  double bytes_per_s() const { return gpu->hbm_tb_s * 1e12 * calibration->hbm; }
  double bytes_of_operand() const;  // one value of what is multiplied
};

// `groups` products of m x k by k x n, side by side in one kernel.
struct Gemm {
  double m = 0, n = 0, k = 0;
  double groups = 1;

  double flops() const { return 2 * m * n * k * groups; }
};

double gemm_s(const Engine& engine, const Gemm& g);
struct Attention {
  double batch = 1, heads = 1, head_dim = 128;
  double queries = 0, keys = 0;  // of each sequence, as far as this GPU has them
  double seen = 1;               // share of the causal triangle

  double flops() const { return 2 * batch * heads * queries * keys * seen * 2 * head_dim; }  // of the whole square
};
// Forward, by a fused kernel that leaves out what is masked.
double attention_s(const Engine& engine, const Attention& a);

// What goes once through memory and is hardly computed on.
double stream_s(const Engine& engine, double bytes);

}  // namespace muster::predict
