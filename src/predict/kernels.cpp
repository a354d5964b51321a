#include "predict/kernels.h"

#include <algorithm>
#include <cmath>

namespace muster::predict {
namespace {

struct Tile {
  double m, n;
  double rate;  // of the peak: a smaller tile reads its operands more often
};
constexpr Tile kTiles[] = {{128, 256, 1.0}, {128, 128, 1 / 1.12}};

}  // namespace

double Engine::bytes_of_operand() const {
  switch (dtype) {
    case Dtype::bf16: return 2;
    case Dtype::fp8:
    case Dtype::mxfp8: return 1;
    case Dtype::nvfp4: return 0.5;
  }
  return 2;
}

// Every multiprocessor works on one tile at a time, so the last wave takes as long as a full one.
double gemm_s(const Engine& e, const Gemm& g) {
  if (g.m <= 0 || g.n <= 0 || g.k <= 0) return 0;
  const double sms = e.gpu->sms;
  double waves = 1e300;  // operations of whole waves of tiles, with what is computed for nothing
  for (const Tile& t : kTiles) {
    const double tiles = std::ceil(g.m / t.m) * std::ceil(g.n / t.n) * g.groups;
    waves = std::min(waves, std::ceil(tiles / sms) * sms * t.m * t.n * g.k * 2 / t.rate);
  }
  const Calibration& c = *e.calibration;
  const double flops = c.gemm_waves * waves + (1 - c.gemm_waves) * g.flops();
  const double share = c.gemm * g.k / (g.k + c.gemm_k_half);
  const double bytes = g.groups * ((g.m * g.k + g.k * g.n) * e.bytes_of_operand() + g.m * g.n * 2);
  return c.kernel_us * 1e-6 + std::max(flops / (e.peak() * share), stream_s(e, bytes));
}

double attention_s(const Engine& e, const Attention& a) {
  constexpr double kRows = 128;     // of queries that one multiprocessor takes at a time
  constexpr double kDiagonal = 2;   // tiles: the one on the diagonal, and as much for beginning and ending a row
  constexpr double kHeadHalf = 60;  // length of a head at which half of the rate is reached
  constexpr double kHeadUsual = 128;
  const Calibration& c = *e.calibration;
  const double head = a.head_dim / (a.head_dim + kHeadHalf) * (kHeadUsual + kHeadHalf) / kHeadUsual;
  const double rate = e.gpu->peak(Dtype::bf16) * c.attention * head;
  const double longest = 4 * kRows * a.keys * a.head_dim / (rate / std::max(1U, e.gpu->sms));
  // Half of the square, and the tiles on its diagonal whole: half of what they compute is thrown away.
  const double causal = 0.5 * (1 + std::min(1.0, kDiagonal * kRows / std::max(a.keys, 1.0)));
  return c.attention_us * 1e-6 + a.flops() * causal / rate + c.attention_tail * longest;
}

double stream_s(const Engine& e, double bytes) { return bytes / e.bytes_per_s(); }

}  // namespace muster::predict
