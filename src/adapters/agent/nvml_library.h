// What is used of NVML's C interface, as its documentation describes it: the program is built without its header and runs without
// the library.
#pragma once
#include <dlfcn.h>

#include <string>
#include <utility>

namespace muster::agent::nvml {

using Device = struct OpaqueDevice*;
using EventSet = struct OpaqueEventSet*;
struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};
struct Utilization {
  unsigned gpu, memory;
};
struct MemoryV2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
struct Violation {
  unsigned long long reference_time, violation_time;
};
struct Margin {
  unsigned version;
  int celsius;
};
struct SramStatus {
  unsigned version;
  unsigned long long unc_parity, unc_secded, cor, volatile_unc_parity, volatile_unc_secded, volatile_cor;
  unsigned long long l2, sm, microcontroller, pcie, other;
  unsigned exceeded;
};
struct FieldValue {
  unsigned id, scope;
  long long timestamp, latency_us;
  int type, status;
  union {
    double real;
    unsigned u32;
    unsigned long u_long;
    unsigned long long u64;
    long long s64;
    int s32;
  } value;
};
struct EventData {
  Device device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};

constexpr int kOk = 0;
constexpr int kInsufficientSize = 7;
constexpr int kTimeout = 10;
constexpr int kFunctionNotFound = 13;
constexpr int kGpuLost = 15;
constexpr unsigned long long kXidEvent = 8;

// The library, once it is open and initialised.
class Library {
 public:
  bool ready() const { return ready_; }
  const std::string& why() const { return why_; }
  bool open(const std::string& path) {
    if (handle_ == nullptr) handle_ = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (handle_ == nullptr) {
      why_ = dlerror();
      return false;
    }
    if (const int r = call<int()>("nvmlInit_v2"); r != kOk) {
      why_ = "nvmlInit answers " + std::to_string(r);
      return false;
    }
    return ready_ = true;
  }
  // To be opened again before it is used: the driver was unloaded, or is not there.
  void close() {
    if (std::exchange(ready_, false)) call<int()>("nvmlShutdown");
  }
  template <class F, class... A>
  int call(const char* name, A... args) {
    auto* f = reinterpret_cast<F*>(dlsym(handle_, name));
    return f == nullptr ? kFunctionNotFound : f(args...);
  }

 private:
  void* handle_ = nullptr;
  bool ready_ = false;
  std::string why_;
};

}  // namespace muster::agent::nvml
