// Where cuBLASLt is looked for, and what its answers mean.
#include "lt.cuh"

#include <dlfcn.h>

#include <cstdlib>

#include "device.cuh"

namespace muster_accept {
namespace {

constexpr const char* kNames[] = {
    "libcublasLt.so.13",
    "/usr/local/cuda/lib64/libcublasLt.so.13",
    "/usr/local/cuda-13/lib64/libcublasLt.so.13",
    "/usr/lib/x86_64-linux-gnu/libcublasLt.so.13",
    "/usr/lib/aarch64-linux-gnu/libcublasLt.so.13",
    "libcublasLt.so.12",
    "/usr/local/cuda/lib64/libcublasLt.so.12",
    "/usr/local/cuda-12/lib64/libcublasLt.so.12",
    "/usr/lib/x86_64-linux-gnu/libcublasLt.so.12",
    "/usr/lib/aarch64-linux-gnu/libcublasLt.so.12",
    nullptr,
};

template <class F>
bool find(void* library, const char* name, F* out, std::string* why) {
  *out = reinterpret_cast<F>(dlsym(library, name));
  if (*out == nullptr) *why = std::string("libcublasLt lacks ") + name;
  return *out != nullptr;
}

const char* meaning_of(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_NOT_INITIALIZED: return "not initialized";
    case CUBLAS_STATUS_ALLOC_FAILED: return "out of memory";
    case CUBLAS_STATUS_INVALID_VALUE: return "invalid value";
    case CUBLAS_STATUS_ARCH_MISMATCH: return "not for this GPU";
    case CUBLAS_STATUS_EXECUTION_FAILED: return "execution failed";
    case CUBLAS_STATUS_NOT_SUPPORTED: return "not supported on this GPU";
    default: return "failed";
  }
}

}  // namespace

void* open_library(const char* variable, const char* const* names, std::string* why) {
  if (const char* named = std::getenv(variable); named != nullptr && *named != '\0') {
    void* library = dlopen(named, RTLD_NOW | RTLD_LOCAL);
    const char* said = library == nullptr ? dlerror() : nullptr;
    if (library == nullptr) *why = said == nullptr ? named : said;
    return library;
  }
  for (; *names != nullptr; ++names) {
    if (void* library = dlopen(*names, RTLD_NOW | RTLD_LOCAL)) return library;
    const char* said = dlerror();
    if (why->empty()) *why = said == nullptr ? *names : said;
  }
  return nullptr;
}

Lt open_lt() {
  Lt lt;
  void* library = open_library("MUSTER_CUBLASLT", kNames, &lt.why);
  if (library == nullptr) {
    lt.why = "cuBLASLt is not there: " + lt.why;
    return lt;
  }
  std::string why;
  const bool all = find(library, "cublasLtCreate", &lt.create, &why) && find(library, "cublasLtDestroy", &lt.destroy, &why) &&
                   find(library, "cublasLtGetVersion", &lt.version, &why) &&
                   find(library, "cublasLtMatmulAlgoGetHeuristic", &lt.heuristic, &why) &&
                   find(library, "cublasLtMatmulAlgoConfigGetAttribute", &lt.algorithm_attribute, &why) &&
                   find(library, "cublasLtMatmulDescCreate", &lt.operation_create, &why) &&
                   find(library, "cublasLtMatmulDescDestroy", &lt.operation_destroy, &why) &&
                   find(library, "cublasLtMatmulDescSetAttribute", &lt.operation_set, &why) &&
                   find(library, "cublasLtMatrixLayoutCreate", &lt.layout_create, &why) &&
                   find(library, "cublasLtMatrixLayoutDestroy", &lt.layout_destroy, &why) &&
                   find(library, "cublasLtMatmulPreferenceCreate", &lt.preference_create, &why) &&
                   find(library, "cublasLtMatmulPreferenceDestroy", &lt.preference_destroy, &why) &&
                   find(library, "cublasLtMatmulPreferenceSetAttribute", &lt.preference_set, &why) &&
                   find(library, "cublasLtMatmul", &lt.matmul, &why);
  if (!all) {
    lt = Lt{};
    lt.why = why;
    return lt;
  }
  lt.why.clear();
  return lt;
}

void fail_lt(cublasStatus_t status, const char* doing) {
  // What broke may have been the context, and then its own error says more.
  check(cudaDeviceSynchronize(), doing);
  throw CouldNotRun{text("%s: %s (cuBLASLt status %d)", doing, meaning_of(status), static_cast<int>(status))};
}

}  // namespace muster_accept
