// Tests that meet with a mishap on a real GPU: the library that MISHAP_REAL names, behind the same interface (accept.h), with the
// one mishap that MISHAP names:
//   hang:TEST   a kernel that does not end while anybody waits for it runs in that test, and the test waits in the driver
//   hold:MIB    all memory but so much is taken when the GPU is opened, by the tests' own process
#include <accept.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

constexpr unsigned long long kHang_ns = 120ull * 1000 * 1000 * 1000;  // at the latest: the GPU must not be lost to this

__global__ void hang() {
  unsigned long long begun = 0, now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begun));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - begun < kHang_ns);
}

void* real() {
  static void* library = [] {
    const char* named = std::getenv("MISHAP_REAL");
    return named == nullptr ? nullptr : dlopen(named, RTLD_NOW | RTLD_LOCAL);
  }();
  return library;
}

template <class F>
F found(const char* name) {
  return real() == nullptr ? nullptr : reinterpret_cast<F>(dlsym(real(), name));
}

// What follows "hang:" or "hold:"; empty: this is not the mishap.
std::string mishap(const char* kind) {
  const char* said = std::getenv("MISHAP");
  return said != nullptr && std::strncmp(said, kind, std::strlen(kind)) == 0 ? said + std::strlen(kind) : "";
}

int could_not(char* why, std::size_t bytes, const char* what) {
  std::snprintf(why, bytes, "%s", what);
  return MUSTER_ACCEPT_COULD_NOT_RUN;
}

}  // namespace

extern "C" {

int muster_accept_abi(void) { return MUSTER_ACCEPT_ABI; }

int muster_accept_open(const char* gpu, struct muster_accept_device* device, char* why, std::size_t why_bytes, void** handle) {
  const auto open = found<decltype(&muster_accept_open)>("muster_accept_open");
  if (open == nullptr) return could_not(why, why_bytes, "MISHAP_REAL names no library of tests");
  const int r = open(gpu, device, why, why_bytes, handle);
  const std::string leave = mishap("hold:");
  if (r != MUSTER_ACCEPT_DONE || leave.empty()) return r;
  // The worker sees one GPU, and CUDA keeps one context for it: what is taken here is not there for the tests.
  std::size_t free = 0, total = 0;
  void* held = nullptr;
  const std::size_t kept = std::strtoull(leave.c_str(), nullptr, 10) << 20;
  if (cudaMemGetInfo(&free, &total) != cudaSuccess || free < kept) return could_not(why, why_bytes, "no memory to be held");
  for (std::size_t most = free - kept; most > kept && cudaMalloc(&held, most) != cudaSuccess;) most -= std::size_t{16} << 20;
  cudaGetLastError();
  return r;
}

int muster_accept_run(void* handle, const struct muster_accept_task* task, const struct muster_accept_host* host, char* why,
                      std::size_t why_bytes) {
  if (mishap("hang:") == task->test) {
    hang<<<1024, 128>>>();
    cudaDeviceSynchronize();
  }
  const auto run = found<decltype(&muster_accept_run)>("muster_accept_run");
  return run == nullptr ? could_not(why, why_bytes, "no tests") : run(handle, task, host, why, why_bytes);
}

void muster_accept_close(void* handle) {
  if (const auto close = found<decltype(&muster_accept_close)>("muster_accept_close")) close(handle);
}

}  // extern "C"
