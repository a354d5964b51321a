// Descriptions of products for cuBLASLt, and the choice of an algorithm.
#include "matmul.cuh"

#include <algorithm>

namespace muster_accept {
namespace {

constexpr std::size_t kWorkspace = std::size_t{64} << 20;
constexpr int kCandidates = 6;
constexpr double kWarm_s = 0.15;   // until the clock has found the power limit
constexpr double kRound_s = 0.03;  // of one proposal, when they are compared
constexpr int kRounds = 5;

cudaDataType_t input_type(Number n) {
  switch (n) {
    case Number::bf16: return CUDA_R_16BF;
    case Number::fp16: return CUDA_R_16F;
    case Number::fp8: return CUDA_R_8F_E4M3;
    case Number::tf32: return CUDA_R_32F;
    case Number::int8: return CUDA_R_8I;
  }
  return CUDA_R_32F;
}

cudaDataType_t output_type(const Shape& s) {
  if (s.number == Number::int8) return CUDA_R_32I;
  return s.wide ? CUDA_R_32F : CUDA_R_16BF;
}

std::string key_of(const Shape& s) {
  return text("%d %d %u %u %u", static_cast<int>(s.number), s.wide ? 1 : 0, s.rows, s.columns, s.depth);
}

// Decimal: algorithm, tile, stages, cluster (three digits each), custom option (two), so that a person can read it.
double id_of(const Lt& lt, const cublasLtMatmulAlgo_t& algorithm) {
  const auto asked = [&](cublasLtMatmulAlgoConfigAttributes_t what, bool narrow) -> double {
    std::uint32_t wide_value = 0;
    std::uint16_t narrow_value = 0;
    std::size_t written = 0;
    const cublasStatus_t s = narrow ? lt.algorithm_attribute(&algorithm, what, &narrow_value, sizeof narrow_value, &written)
                                    : lt.algorithm_attribute(&algorithm, what, &wide_value, sizeof wide_value, &written);
    if (s != CUBLAS_STATUS_SUCCESS) return 0;
    return narrow ? static_cast<double>(narrow_value) : static_cast<double>(wide_value);
  };
  const double id = asked(CUBLASLT_ALGO_CONFIG_ID, false), tile = asked(CUBLASLT_ALGO_CONFIG_TILE_ID, false),
               stages = asked(CUBLASLT_ALGO_CONFIG_STAGES_ID, false), custom = asked(CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, false),
               cluster = asked(CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, true);
  return (((id * 1000 + tile) * 1000 + stages) * 1000 + cluster) * 100 + (custom < 100 ? custom : 99);
}

}  // namespace

Matmul::Matmul(Run& run, const Shape& the_shape) : shape(the_shape), run_(run), lt_(run.gpu.lt) {
  if (!lt_.there()) throw CouldNotRun{lt_.why};
  try {
    describe();
    workspace_ = Memory<unsigned char>(kWorkspace);
  } catch (...) {
    release();
    throw;
  }
}

Matmul::~Matmul() { release(); }

void Matmul::release() {
  if (d_ != nullptr) lt_.layout_destroy(d_);
  if (y_ != nullptr) lt_.layout_destroy(y_);
  if (x_ != nullptr) lt_.layout_destroy(x_);
  if (operation_ != nullptr) lt_.operation_destroy(operation_);
  if (handle_ != nullptr) lt_.destroy(handle_);
}

// cuBLASLt counts column by column: what lies row by row is to it the transposed matrix, so it is asked for D' = Y X'.
void Matmul::describe() {
  check_lt(lt_.create(&handle_), "cublasLtCreate");
  const bool whole = shape.number == Number::int8;
  const cublasComputeType_t compute = whole                          ? CUBLAS_COMPUTE_32I
                                      : shape.number == Number::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                                     : CUBLAS_COMPUTE_32F;
  check_lt(lt_.operation_create(&operation_, compute, whole ? CUDA_R_32I : CUDA_R_32F), "cublasLtMatmulDescCreate");
  const cublasOperation_t turned = CUBLAS_OP_T, straight = CUBLAS_OP_N;
  check_lt(lt_.operation_set(operation_, CUBLASLT_MATMUL_DESC_TRANSA, &turned, sizeof turned), "cublasLtMatmulDescSetAttribute");
  check_lt(lt_.operation_set(operation_, CUBLASLT_MATMUL_DESC_TRANSB, &straight, sizeof straight),
           "cublasLtMatmulDescSetAttribute");
  const auto depth = static_cast<std::int64_t>(shape.depth);
  check_lt(lt_.layout_create(&y_, input_type(shape.number), shape.depth, shape.columns, depth), "cublasLtMatrixLayoutCreate");
  check_lt(lt_.layout_create(&x_, input_type(shape.number), shape.depth, shape.rows, depth), "cublasLtMatrixLayoutCreate");
  check_lt(lt_.layout_create(&d_, output_type(shape), shape.columns, shape.rows, static_cast<std::int64_t>(shape.columns)),
           "cublasLtMatrixLayoutCreate");
}

std::vector<Choice> Matmul::candidates() const {
  cublasLtMatmulPreference_t preference = nullptr;
  check_lt(lt_.preference_create(&preference), "cublasLtMatmulPreferenceCreate");
  const std::size_t most = kWorkspace;
  cublasStatus_t status = lt_.preference_set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most, sizeof most);
  cublasLtMatmulHeuristicResult_t found[kCandidates] = {};
  int count = 0;
  if (status == CUBLAS_STATUS_SUCCESS)
    status = lt_.heuristic(handle_, operation_, y_, x_, d_, d_, preference, kCandidates, found, &count);
  lt_.preference_destroy(preference);
  check_lt(status, "cublasLtMatmulAlgoGetHeuristic");
  std::vector<Choice> out;
  for (int i = 0; i < count; ++i) {
    if (found[i].state != CUBLAS_STATUS_SUCCESS || found[i].workspaceSize > kWorkspace) continue;
    Choice c;
    c.algorithm = found[i].algo;
    c.id = id_of(lt_, c.algorithm);
    out.push_back(c);
  }
  if (out.empty()) throw CouldNotRun{"cuBLASLt has no algorithm for such products on this GPU"};
  return out;
}

void Matmul::launch(const Choice& choice, const void* x, const void* y, void* d, cudaStream_t stream) const {
  const float one = 1, zero = 0;
  const std::int32_t whole_one = 1, whole_zero = 0;
  const bool whole = shape.number == Number::int8;
  check_lt(lt_.matmul(handle_, operation_, whole ? static_cast<const void*>(&whole_one) : &one, y, y_, x, x_,
                      whole ? static_cast<const void*>(&whole_zero) : &zero, d, d_, d, d_, &choice.algorithm, workspace_.data(),
                      kWorkspace, stream),
           "cublasLtMatmul");
}

void Matmul::launch(const void* x, const void* y, void* d, cudaStream_t stream) const { launch(choice_, x, y, d, stream); }

double Matmul::timed(const Choice& c, int products, const void* x, const void* y, void* d, cudaStream_t stream) const {
  const Event begin, end;
  begin.record(stream);
  for (int i = 0; i < products; ++i) launch(c, x, y, d, stream);
  end.record(stream);
  end.wait(run_);
  return end.seconds_since(begin) / products;
}

void Matmul::choose(const void* x, const void* y, void* d, cudaStream_t stream) {
  const auto known = run_.gpu.choices.find(key_of(shape));
  if (known != run_.gpu.choices.end()) {
    choice_ = known->second;
    return;
  }
  choice_ = candidates().front();
  double once = 0;
  for (const double until = now_s() + kWarm_s; once <= 0 || now_s() < until;)
    once = timed(choice_, once > 0 ? 4 : 1, x, y, d, stream);
  choice_.seconds = once;
  run_.gpu.choices[key_of(shape)] = choice_;
}

std::vector<Choice> Matmul::compared(const void* x, const void* y, void* d, cudaStream_t stream) const {
  std::vector<Choice> all = candidates();
  std::vector<std::vector<double>> times(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) timed(all[i], 1, x, y, d, stream);  // its kernel is loaded now
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double once = timed(all[i], 1, x, y, d, stream);
      times[i].push_back(timed(all[i], std::max(1, static_cast<int>(kRound_s / std::max(once, 1e-6))), x, y, d, stream));
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) all[i].seconds = median_of(times[i]);
  return all;
}

}  // namespace muster_accept
