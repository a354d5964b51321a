// A library of products that lies now and then: calls go to the real one, and results are altered after it, on the same stream.
// Built twice: as a libcublasLt (LIES_REAL names the real one), and with -DPRELOADED as a wrapper of cublasSgemm for a program
// that is linked to libcublas. LIES is high (a high bit of the mantissa is flipped), low (the lowest bit), nan (the result is
// replaced), mixed (these three in turn), or repeat (the same high bit of the same place in every product, the first included).
// LIES_EVERY: one product in so many, by LIES_SEED. LIES_LOG gets a line for each: product, kind, bytes, row, column.
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <library_types.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

namespace {

__global__ void alter32(std::uint32_t* word, std::uint32_t mask, bool replace) { *word = replace ? mask : *word ^ mask; }
__global__ void alter16(std::uint16_t* word, std::uint16_t mask, bool replace) { *word = replace ? mask : *word ^ mask; }

std::uint64_t mix(std::uint64_t v) {
  v += 0x9e3779b97f4a7c15;
  v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9;
  v = (v ^ v >> 27) * 0x94d049bb133111eb;
  return v ^ v >> 31;
}

std::uint64_t number_of(const char* variable, std::uint64_t otherwise) {
  const char* said = std::getenv(variable);
  return said == nullptr ? otherwise : std::strtoull(said, nullptr, 10);
}

struct Result {
  void* at;
  unsigned bytes;  // of one result: 4 (fp32, int32) or 2 (bf16)
  std::uint64_t rows, columns, stride;
  cudaStream_t stream;
};

void lie(const Result& d) {
  static std::mutex one;
  const std::lock_guard<std::mutex> lock(one);
  static const char* kinds = std::getenv("LIES");
  static const std::uint64_t seed = number_of("LIES_SEED", 1), every = number_of("LIES_EVERY", 100);
  static std::uint64_t product = 0, told = 0;
  const std::uint64_t number = product++;
  if (kinds == nullptr || d.rows == 0 || d.columns == 0) return;
  const bool repeat = std::strcmp(kinds, "repeat") == 0;
  if (!repeat && mix(seed ^ number << 8) % every != 0) return;
  static const char* const kMixed[] = {"high", "low", "nan"};
  const char* kind = repeat ? "high" : std::strcmp(kinds, "mixed") == 0 ? kMixed[told % 3] : kinds;
  const std::uint64_t place = mix(seed + (repeat ? 0 : number + 1)), row = place % d.rows, column = (place >> 32) % d.columns;
  const bool nan = std::strcmp(kind, "nan") == 0, low = std::strcmp(kind, "low") == 0;
  const std::uint32_t mask = d.bytes == 4 ? (nan ? 0x7fc00000 : low ? 1 : 1u << 22) : (nan ? 0x7fc0 : low ? 1 : 1u << 6);
  const std::uint64_t index = row * d.stride + column;
  if (d.bytes == 4) {
    alter32<<<1, 1, 0, d.stream>>>(static_cast<std::uint32_t*>(d.at) + index, mask, nan);
  } else {
    alter16<<<1, 1, 0, d.stream>>>(static_cast<std::uint16_t*>(d.at) + index, static_cast<std::uint16_t>(mask), nan);
  }
  const bool launched = cudaGetLastError() == cudaSuccess;
  ++told;
  static const int log = [] {
    const char* path = std::getenv("LIES_LOG");
    return path == nullptr ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  }();
  char line[200];
  const int n = std::snprintf(line, sizeof line, "%llu %s %u %llu %llu\n", static_cast<unsigned long long>(number),
                              launched ? kind : "failed", d.bytes, static_cast<unsigned long long>(row),
                              static_cast<unsigned long long>(column));
  if (log >= 0 && (!repeat || told <= 100) && write(log, line, static_cast<std::size_t>(n)) < 0) return;
}

}  // namespace

extern "C" {

#ifdef PRELOADED

// cuBLAS counts column by column: what it calls columns are rows here.
int cublasSgemm_v2(void* handle, int turn_a, int turn_b, int m, int n, int k, const float* alpha, const float* a, int lda,
                   const float* b, int ldb, const float* beta, float* c, int ldc) {
  using Gemm = decltype(&cublasSgemm_v2);
  using StreamOf = int (*)(void*, cudaStream_t*);
  static const auto gemm = reinterpret_cast<Gemm>(dlsym(RTLD_NEXT, "cublasSgemm_v2"));
  static const auto stream_of = reinterpret_cast<StreamOf>(dlsym(RTLD_NEXT, "cublasGetStream_v2"));
  const int status = gemm(handle, turn_a, turn_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  cudaStream_t stream = nullptr;
  if (status == 0 && stream_of(handle, &stream) == 0) {
    lie({c, 4, static_cast<std::uint64_t>(n), static_cast<std::uint64_t>(m), static_cast<std::uint64_t>(ldc), stream});
  }
  return status;
}

#else

// The interface of cuBLASLt, as far as the tests use it: all that it makes is passed by address.
}  // extern "C"

namespace {

struct Layout {
  int type;
  std::uint64_t rows, columns;
  std::int64_t stride;
};
std::map<const void*, Layout> layouts;
std::mutex layouts_lock;

template <class F>
F real(const char* name) {
  static void* library = [] {
    const char* named = std::getenv("LIES_REAL");
    return dlopen(named == nullptr ? "libcublasLt.so.13" : named, RTLD_NOW | RTLD_LOCAL);
  }();
  void* found = library == nullptr ? nullptr : dlsym(library, name);
  if (found == nullptr) {
    std::fprintf(stderr, "lying_blas: LIES_REAL has no %s\n", name);
    std::abort();
  }
  return reinterpret_cast<F>(found);
}

}  // namespace

#define FORWARD(name, takes, gives)                              \
  int name takes {                                               \
    static const auto to = real<decltype(&name)>(#name);         \
    return to gives;                                             \
  }

extern "C" {

std::size_t cublasLtGetVersion() { return real<std::size_t (*)()>("cublasLtGetVersion")(); }
FORWARD(cublasLtCreate, (void** handle), (handle))
FORWARD(cublasLtDestroy, (void* handle), (handle))
FORWARD(cublasLtMatmulDescCreate, (void** made, int compute, int scale), (made, compute, scale))
FORWARD(cublasLtMatmulDescDestroy, (void* made), (made))
FORWARD(cublasLtMatmulDescSetAttribute, (void* of, int what, const void* value, std::size_t bytes), (of, what, value, bytes))
FORWARD(cublasLtMatmulPreferenceCreate, (void** made), (made))
FORWARD(cublasLtMatmulPreferenceDestroy, (void* made), (made))
FORWARD(cublasLtMatmulPreferenceSetAttribute, (void* of, int what, const void* value, std::size_t bytes),
        (of, what, value, bytes))
FORWARD(cublasLtMatmulAlgoConfigGetAttribute, (const void* of, int what, void* value, std::size_t bytes, std::size_t* written),
        (of, what, value, bytes, written))
FORWARD(cublasLtMatmulAlgoGetHeuristic,
        (void* handle, void* operation, void* a, void* b, void* c, void* d, void* preference, int most, void* found, int* count),
        (handle, operation, a, b, c, d, preference, most, found, count))

int cublasLtMatrixLayoutCreate(void** made, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t stride) {
  static const auto to = real<decltype(&cublasLtMatrixLayoutCreate)>("cublasLtMatrixLayoutCreate");
  const int status = to(made, type, rows, columns, stride);
  const std::lock_guard<std::mutex> lock(layouts_lock);
  if (status == 0) layouts[*made] = {type, rows, columns, stride};
  return status;
}

int cublasLtMatrixLayoutDestroy(void* made) {
  static const auto to = real<decltype(&cublasLtMatrixLayoutDestroy)>("cublasLtMatrixLayoutDestroy");
  {
    const std::lock_guard<std::mutex> lock(layouts_lock);
    layouts.erase(made);
  }
  return to(made);
}

int cublasLtMatmul(void* handle, void* operation, const void* alpha, const void* a, void* a_layout, const void* b, void* b_layout,
                   const void* beta, const void* c, void* c_layout, void* d, void* d_layout, const void* algorithm,
                   void* workspace, std::size_t bytes, cudaStream_t stream) {
  static const auto to = real<decltype(&cublasLtMatmul)>("cublasLtMatmul");
  const int status = to(handle, operation, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d, d_layout, algorithm, workspace,
                        bytes, stream);
  Layout of = {-1, 0, 0, 0};
  {
    const std::lock_guard<std::mutex> lock(layouts_lock);
    if (const auto it = layouts.find(d_layout); it != layouts.end()) of = it->second;
  }
  const unsigned size = of.type == CUDA_R_32F || of.type == CUDA_R_32I ? 4 : of.type == CUDA_R_16BF ? 2 : 0;
  if (status == 0 && size > 0) lie({d, size, of.columns, of.rows, static_cast<std::uint64_t>(of.stride), stream});
  return status;
}

#endif

}  // extern "C"
