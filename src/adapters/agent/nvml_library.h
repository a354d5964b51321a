// What is used of NVML's C interface, as its documentation describes it: the program is built without its header and runs without
// the library.
#pragma once
#include <dlfcn.h>

#include <optional>
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
struct ProcessInfo {
  unsigned pid;
  unsigned long long memory;
  unsigned gpu_instance, compute_instance;
};

constexpr int kOk = 0;
constexpr int kNoPermission = 4;
constexpr int kInsufficientSize = 7;
constexpr int kNoPower = 8;
constexpr int kDriverNotLoaded = 9;
constexpr int kTimeout = 10;
constexpr int kIrqIssue = 11;
constexpr int kFunctionNotFound = 13;
constexpr int kGpuLost = 15;
constexpr int kResetRequired = 16;
constexpr int kBlocked = 17;  // by the operating system or a cgroup
constexpr int kVersionMismatch = 18;
constexpr unsigned long long kXidEvent = 8;

// Nothing where this GPU does not have the field.
inline std::optional<double> as_number(const FieldValue& f) {
  if (f.status != kOk) return std::nullopt;
  switch (f.type) {
    case 0: return f.value.real;
    case 1: return f.value.u32;
    case 2: return static_cast<double>(f.value.u_long);
    case 3: return f.value.u64 == ~0ULL ? std::nullopt : std::optional(static_cast<double>(f.value.u64));
    case 4: return f.value.s64 < 0 ? std::nullopt : std::optional(static_cast<double>(f.value.s64));
    case 5: return f.value.s32;
    default: return std::nullopt;
  }
}

// The library, once it is open and initialised.
class Library {
 public:
  bool ready() const { return ready_; }
  const std::string& why() const { return why_; }
  int answered() const { return answered_; }  // by nvmlInit, as far as it came to that
  bool open(const std::string& path) {
    if (handle_ == nullptr) handle_ = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (handle_ == nullptr) {
      why_ = dlerror();
      return false;
    }
    answered_ = call<int()>("nvmlInit_v2");
    if (answered_ != kOk) {
      why_ = "nvmlInit answers " + std::to_string(answered_);
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
  int answered_ = kOk;
  std::string why_;
};

}  // namespace muster::agent::nvml
