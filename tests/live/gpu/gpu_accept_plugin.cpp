// gpu_accept_plugin LIBRARY MODE [GPU [TEST]]: drives libmuster-accept-cuda.so as the bench does, without the rest of muster, and
// prints what it is told, a line a thing, fields apart by tabs. Needs a C++17 compiler and dlopen; gpu_accept.py judges what it
// prints.
//
//   figures  every test, each as long as in the profile quick, or so many times that with GPU_ACCEPT_SCALE
//   steady   products for minutes, to see how much their rate per MHz moves
//   plants   faults of all kinds, some 11,000, each to be found with its place
//   short    little of every test, for a memory checker that makes all of it slow
//   stop     every test is stopped in the middle: how long that takes
//   trial    what choices in the library cost
#include <dlfcn.h>
#include <time.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "accept.h"

namespace {

double now_s() {
  timespec t = {};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

struct Library {
  decltype(&muster_accept_abi) abi = nullptr;
  decltype(&muster_accept_open) open = nullptr;
  decltype(&muster_accept_run) run = nullptr;
  decltype(&muster_accept_close) close = nullptr;
};

template <class F>
bool find(void* library, const char* name, F* out) {
  *out = reinterpret_cast<F>(dlsym(library, name));
  return *out != nullptr;
}

struct Told {
  std::string test;
  double stop_at = 0;  // 0: never
  double asked_last = 0, asked_gap = 0;
  double stopped_at = 0;  // when the answer was first yes
  std::map<std::string, double> last;
  std::uint64_t wrong = 0;
};

void measured(void* self, const char* metric, double value) {
  auto* t = static_cast<Told*>(self);
  t->last[metric] = value;
  std::printf("measured\t%s\t%s\t%.9g\n", t->test.c_str(), metric, value);
}
void held(void* self, const char* metric, double value, double begun_s, double took_s, double mhz) {
  auto* t = static_cast<Told*>(self);
  std::printf("held\t%s\t%s\t%.9g\t%.6f\t%.6f\t%.6g\n", t->test.c_str(), metric, value, begun_s, took_s, mhz);
}
void wrong(void* self, const char* place, std::uint64_t count, const char* detail) {
  auto* t = static_cast<Told*>(self);
  t->wrong += count;
  std::printf("wrong\t%s\t%s\t%llu\t%s\n", t->test.c_str(), place, static_cast<unsigned long long>(count), detail);
}
void progress(void*, double) {}
int stop(void* self) {
  auto* t = static_cast<Told*>(self);
  const double now = now_s();
  if (t->asked_last > 0 && now - t->asked_last > t->asked_gap) t->asked_gap = now - t->asked_last;
  t->asked_last = now;
  if (t->stop_at == 0 || now < t->stop_at) return 0;
  if (t->stopped_at == 0) t->stopped_at = now;
  return 1;
}

// What the driver says is free, in the context that the library has made; -1: it is not asked.
double free_mib() {
  static void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) return -1;
  using Ask = int (*)(std::size_t*, std::size_t*);
  const auto ask = reinterpret_cast<Ask>(dlsym(driver, "cuMemGetInfo_v2"));
  std::size_t free = 0, total = 0;
  return ask == nullptr || ask(&free, &total) != 0 ? -1 : static_cast<double>(free) / (1 << 20);
}

struct Job {
  const char* test;
  double seconds;
  const char* plant;
};

// One test; the state it ended in.
int run(const Library& library, void* gpu, const Job& job, double stop_after) {
  Told told;
  told.test = job.test;
  const double begun = now_s();
  if (stop_after > 0) told.stop_at = begun + stop_after;
  const muster_accept_host host = {&told, measured, held, wrong, progress, stop};
  const muster_accept_task task = {job.test, job.seconds, 20260601, job.plant};
  char why[512] = "";
  const int state = library.run(gpu, &task, &host, why, sizeof why);
  const double ended = now_s();
  std::printf("ran\t%s\t%s\t%d\t%.4f\t%llu\t%.4f\t%.4f\t%.1f\t%s\n", job.test, job.plant, state, ended - begun,
              static_cast<unsigned long long>(told.wrong), told.asked_gap, told.stopped_at > 0 ? ended - told.stopped_at : 0,
              free_mib(), why);
  std::fflush(stdout);
  return state;
}

std::vector<Job> figures(double scale) {
  std::vector<Job> jobs = {{"link", 2, ""},      {"sweep", 0.2, ""},   {"hbm", 1, ""},      {"march", 1, ""},
                           {"gemm_bf16", 3, ""}, {"gemm_fp16", 3, ""}, {"gemm_fp8", 3, ""}, {"gemm_tf32", 3, ""},
                           {"gemm_int8", 3, ""}, {"sustained", 9, ""}, {"pulse", 2, ""},    {"sweep_hot", 0.2, ""},
                           {"march_hot", 1, ""}, {"peers", 2, ""},     {"nccl", 2, ""}};
  for (Job& j : jobs) j.seconds *= scale;
  return jobs;
}

std::vector<Job> plants() {
  return {{"gemm_bf16", 0, "bit:2000"},  {"gemm_fp16", 0, "bit:640"},    {"gemm_fp8", 0, "bit:640"},
          {"gemm_tf32", 0, "bit:640"},   {"gemm_int8", 0, "bit:640"},    {"gemm_bf16", 0, "bits:640"},
          {"gemm_fp8", 0, "bits:320"},   {"gemm_int8", 0, "bits:320"},   {"gemm_bf16", 0, "nan:320"},
          {"gemm_fp16", 0, "nan:160"},   {"gemm_tf32", 0, "nan:160"},    {"gemm_bf16", 0, "repeat:512"},
          {"gemm_fp8", 0, "repeat:128"}, {"gemm_int8", 0, "repeat:128"}, {"gemm_bf16", 0, "row:256"},
          {"gemm_int8", 0, "row:128"},   {"march", 0, "address:2000"},   {"sweep", 0, "sm:1200"},
          {"sweep", 0, "slow_sm:300"},   {"gemm_bf16", 0, "clock:12"},   {"gemm_fp8", 0, "clock:8"}};
}

std::vector<Job> little() {
  return {{"link", 0, ""},
          {"sweep", 0, ""},
          {"hbm", 0, ""},
          {"march", 0, ""},
          {"gemm_bf16", 0.1, "bit:32"},
          {"gemm_int8", 0.1, "row:8"},
          {"gemm_bf16", 0.1, "nan:8"},
          {"sweep", 0, "sm:16"},
          {"sweep", 0, "slow_sm:6"},
          {"march", 0, "address:64"},
          {"pulse", 0.2, ""},
          {"sustained", 0, ""}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return std::fprintf(stderr, "gpu_accept_plugin LIBRARY figures|steady|plants|short|stop|trial [GPU [TEST]]\n"), 2;
  void* handle = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  Library library;
  if (handle == nullptr || !find(handle, "muster_accept_abi", &library.abi) ||
      !find(handle, "muster_accept_open", &library.open) || !find(handle, "muster_accept_run", &library.run) ||
      !find(handle, "muster_accept_close", &library.close) || library.abi() != MUSTER_ACCEPT_ABI) {
    return std::fprintf(stderr, "%s is not the library: %s\n", argv[1], handle == nullptr ? dlerror() : "other functions"), 2;
  }
  const std::string mode = argv[2];
  muster_accept_device device = {};
  char why[512] = "";
  void* gpu = nullptr;
  if (library.open(argc > 3 ? argv[3] : "0", &device, why, sizeof why, &gpu) != MUSTER_ACCEPT_DONE) {
    std::printf("closed\t%s\n", why);
    return 77;
  }
  std::printf("opened\t%s\t%s\t%s\t%d\t%d\t%.0f\t%d\t%d\t%lld\t%.1f\n", device.name, device.uuid, device.pci, device.sms,
              device.capability, static_cast<double>(device.memory_bytes), device.driver, device.runtime,
              static_cast<long long>(device.cublas), free_mib());
  const char* scale = std::getenv("GPU_ACCEPT_SCALE");
  const std::vector<Job> jobs = mode == "plants"   ? plants()
                                : mode == "short"  ? little()
                                : mode == "steady" ? std::vector<Job>{{"sustained", 45, ""}, {"gemm_bf16", 30, ""}}
                                : mode == "trial"  ? std::vector<Job>{{"trial", 0, ""}}
                                                   : figures(scale == nullptr ? 1 : std::atof(scale));
  bool broke = false;
  // At two moments: soon, and where it is in the midst of its work.
  for (const Job& j : jobs) {
    if (argc > 4 && std::strncmp(j.test, argv[4], std::strlen(argv[4])) != 0) continue;
    if (mode == "stop") {
      run(library, gpu, {j.test, 30, ""}, 0.05);
      run(library, gpu, {j.test, 30, ""}, 0.9);
    } else {
      broke |= run(library, gpu, j, 0) == MUSTER_ACCEPT_STOPPED;
    }
  }
  library.close(gpu);
  std::printf("end\n");
  return broke ? 1 : 0;
}
