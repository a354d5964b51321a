// The C interface: finds the GPU that is meant, runs one test at a time, and turns whatever happens into an answer and a
// sentence.
#pragma GCC visibility push(default)
#include "accept.h"
#pragma GCC visibility pop

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "device.cuh"

using namespace muster_accept;

namespace {

void say(char* why, std::size_t bytes, const std::string& what) {
  if (why != nullptr && bytes > 0) std::snprintf(why, bytes, "%s", what.c_str());
}

std::string uuid_of(const cudaDeviceProp& p) {
  std::string out = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
    out += text("%02x", static_cast<unsigned>(static_cast<unsigned char>(p.uuid.bytes[i])));
  }
  return out;
}

std::string pci_of(const cudaDeviceProp& p) { return text("%08x:%02x:%02x.0", p.pciDomainID, p.pciBusID, p.pciDeviceID); }

bool is_same(const char* a, const char* b) {
  for (; *a != '\0' && std::tolower(static_cast<unsigned char>(*a)) == std::tolower(static_cast<unsigned char>(*b)); ++a) ++b;
  return *a == '\0' && *b == '\0';
}

// "00000000:1B:00.0", "0000:1b:00.0", "1b:00.0"
bool is_pci(const char* asked, const cudaDeviceProp& p) {
  unsigned a = 0, b = 0, c = 0;
  int end = 0;
  if (std::sscanf(asked, "%x:%x:%x.%*x%n", &a, &b, &c, &end) == 3 && end > 0) {
    return asked[end] == '\0' && a == static_cast<unsigned>(p.pciDomainID) && b == static_cast<unsigned>(p.pciBusID) &&
           c == static_cast<unsigned>(p.pciDeviceID);
  }
  end = 0;
  return std::sscanf(asked, "%x:%x.%*x%n", &a, &b, &end) == 2 && end > 0 && asked[end] == '\0' && p.pciDomainID == 0 &&
         a == static_cast<unsigned>(p.pciBusID) && b == static_cast<unsigned>(p.pciDeviceID);
}

int find_gpu(const char* asked, cudaDeviceProp* out) {
  int driver = 0, count = 0;
  cudaDriverGetVersion(&driver);
  if (driver == 0) throw CouldNotRun{"there is no NVIDIA driver"};
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaErrorInsufficientDriver) {
    throw CouldNotRun{text("the driver is of CUDA %d.%d, too old for these tests, which are of CUDA %d.%d", driver / 1000,
                           driver % 1000 / 10, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10)};
  }
  if (error == cudaErrorNoDevice || (error == cudaSuccess && count == 0)) throw CouldNotRun{"there is no NVIDIA GPU to be seen"};
  check(error, "cudaGetDeviceCount");
  char* end = nullptr;
  const unsigned long number = std::strtoul(asked, &end, 10);
  const bool is_number = *asked != '\0' && *end == '\0';
  for (int d = 0; d < count; ++d) {
    check(cudaGetDeviceProperties(out, d), "cudaGetDeviceProperties");
    if (is_number ? number == static_cast<unsigned long>(d) : is_same(asked, uuid_of(*out).c_str()) || is_pci(asked, *out))
      return d;
  }
  throw CouldNotRun{text("there is no GPU '%s' among the %d that can be seen", asked, count)};
}

void describe(const Gpu& gpu, muster_accept_device* out) {
  *out = {};
  const cudaDeviceProp& p = gpu.properties;
  std::snprintf(out->name, sizeof out->name, "%s", p.name);
  std::snprintf(out->uuid, sizeof out->uuid, "%s", uuid_of(p).c_str());
  std::snprintf(out->pci, sizeof out->pci, "%s", pci_of(p).c_str());
  out->sms = p.multiProcessorCount;
  out->capability = p.major * 10 + p.minor;
  out->memory_bytes = p.totalGlobalMem;
  int driver = 0;
  cudaDriverGetVersion(&driver);
  out->driver = driver;
  out->runtime = CUDART_VERSION;
  out->cublas = gpu.lt.there() ? static_cast<std::int64_t>(gpu.lt.version()) : 0;
}

Gpu* open_gpu(const char* asked, muster_accept_device* device) {
  auto gpu = std::make_unique<Gpu>();
  gpu->number = find_gpu(asked, &gpu->properties);
  const cudaDeviceProp& p = gpu->properties;
  if (p.major < 8) throw CouldNotRun{text("%s is of compute capability %d.%d; 8.0 is the least", p.name, p.major, p.minor)};
  // How this process waits for the device, so that short things are timed as they are; nothing of the device itself.
  check(cudaInitDevice(gpu->number, cudaDeviceScheduleSpin, cudaInitDeviceFlagsAreValid), "making a context");
  check(cudaSetDevice(gpu->number), "cudaSetDevice");
  check(cudaFree(nullptr), "making a context");
  gpu->lt = open_lt();
  describe(*gpu, device);
  return gpu.release();
}

bool run_test(Run& run, const std::string& test) {
  for (int n = 0; n < kNumbers; ++n) {
    if (test == std::string("gemm_") + kNumberNames[n]) return run_gemm(run, static_cast<Number>(n)), true;
  }
  if (test == "link") return run_link(run), true;
  if (test == "sweep" || test == "sweep_hot") return run_sweep(run), true;
  if (test == "hbm") return run_hbm(run), true;
  if (test == "march" || test == "march_hot") return run_march(run), true;
  if (test == "sustained") return run_sustained(run), true;
  if (test == "pulse") return run_pulse(run), true;
  if (test == "peers") return run_peers(run), true;
  if (test == "nccl") return run_nccl(run), true;
  if (test == "trial") return run_trial(run), true;
  return false;
}

// What is left of the context after something was thrown: an error that stays is told by whatever is asked next.
void look_after(Gpu& gpu, const std::string& test, const std::string& why) {
  const cudaError_t error = cudaDeviceSynchronize();
  if (error == cudaSuccess) return;
  cudaGetLastError();
  gpu.lost = text("the CUDA context was lost in the test %s (%s); start again in a new process", test.c_str(),
                  why.empty() ? cudaGetErrorString(error) : why.c_str());
}

}  // namespace

extern "C" {

int muster_accept_abi(void) { return MUSTER_ACCEPT_ABI; }

int muster_accept_open(const char* gpu, struct muster_accept_device* device, char* why, size_t why_bytes, void** handle) {
  if (gpu == nullptr || device == nullptr || handle == nullptr) return MUSTER_ACCEPT_COULD_NOT_RUN;
  *handle = nullptr;
  // As NVML and nvidia-smi number them; who has said otherwise is not overruled.
  setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 0);
  try {
    *handle = open_gpu(gpu, device);
    return MUSTER_ACCEPT_DONE;
  } catch (const CouldNotRun& e) {
    say(why, why_bytes, e.why);
  } catch (const std::exception& e) {
    say(why, why_bytes, e.what());
  }
  return MUSTER_ACCEPT_COULD_NOT_RUN;
}

int muster_accept_run(void* handle, const struct muster_accept_task* task, const struct muster_accept_host* host, char* why,
                      size_t why_bytes) {
  if (handle == nullptr || task == nullptr || task->test == nullptr || host == nullptr) return MUSTER_ACCEPT_COULD_NOT_RUN;
  Gpu& gpu = *static_cast<Gpu*>(handle);
  if (!gpu.lost.empty()) {
    say(why, why_bytes, gpu.lost);
    return MUSTER_ACCEPT_COULD_NOT_RUN;
  }
  std::string said;
  int answer = MUSTER_ACCEPT_COULD_NOT_RUN;
  try {
    Plant plant;
    const std::string planted = task->plant == nullptr ? "" : task->plant;
    if (!parse_plant(planted, &plant)) throw CouldNotRun{"there is no fault '" + planted + "' to plant"};
    check(cudaSetDevice(gpu.number), "cudaSetDevice");
    Run run(gpu, *task, *host, plant);
    run.ask();
    if (!run_test(run, task->test)) throw CouldNotRun{std::string("these tests do not have '") + task->test + "'"};
    answer = MUSTER_ACCEPT_DONE;
  } catch (const Stopped&) {
    answer = MUSTER_ACCEPT_STOPPED;
    said = "stopped";
  } catch (const CouldNotRun& e) {
    said = e.why;
  } catch (const std::exception& e) {
    said = e.what();
  }
  look_after(gpu, task->test, said);
  if (answer == MUSTER_ACCEPT_DONE && !gpu.lost.empty()) {
    answer = MUSTER_ACCEPT_COULD_NOT_RUN;
    said = gpu.lost;
  }
  say(why, why_bytes, said);
  return answer;
}

void muster_accept_close(void* handle) {
  if (handle == nullptr) return;
  Gpu* gpu = static_cast<Gpu*>(handle);
  if (cudaSetDevice(gpu->number) == cudaSuccess) cudaDeviceReset();  // all that this process has on it
  cudaGetLastError();
  delete gpu;
}

}  // extern "C"
