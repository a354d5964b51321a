// cuBLASLt, opened at run time: where it is not there, the tests that need it say so and all others run.
#pragma once
#include <cublasLt.h>

#include <cstdint>
#include <string>

namespace muster_accept {

struct Lt {
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtDestroy) destroy = nullptr;
  decltype(&cublasLtGetVersion) version = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;
  decltype(&cublasLtMatmulAlgoConfigGetAttribute) algorithm_attribute = nullptr;
  decltype(&cublasLtMatmulDescCreate) operation_create = nullptr;
  decltype(&cublasLtMatmulDescDestroy) operation_destroy = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) operation_set = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) layout_create = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) layout_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) preference_create = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set = nullptr;
  std::string why;  // not empty: it is not there, and why

  bool there() const { return matmul != nullptr; }
};

Lt open_lt();
// The first of the libraries that opens; nullptr: none, and `why` holds what the loader said of the first.
void* open_library(const char* variable, const char* const* names, std::string* why);
[[noreturn]] void fail_lt(cublasStatus_t status, const char* doing);
inline void check_lt(cublasStatus_t status, const char* doing) {
  if (status != CUBLAS_STATUS_SUCCESS) fail_lt(status, doing);
}

}  // namespace muster_accept
