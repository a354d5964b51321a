#include "adapters/agent/nvml.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace muster::agent {
namespace {

// What is used of NVML's C interface, as its documentation describes it: the program is built without its header and runs without
// the library.
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
constexpr int kGpuLost = 15;
constexpr unsigned long long kXidEvent = 8;
constexpr unsigned kSmClock = 1, kMemClock = 2;

// Fields that have no call of their own. A total of -1 is one that this GPU does not have.
struct Field {
  unsigned id;
  const char* name;
};
constexpr Field kFields[] = {
    {82, "DCGM_FI_DEV_MEMORY_TEMP"},
    {38, "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL"},
    {45, "DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL"},
    {52, "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL"},
    {59, "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL"},
    {230, "DCGM_FI_DEV_GET_GPU_RECOVERY_ACTION"},
};

class Nvml {
 public:
  std::string ask(const std::string& library) {
    if (!ready_ && !open(library)) return fmt::format("node nvml absent\nnode nvml_reason {}\n", printable(why_));
    out_ = "node nvml present\n";
    system();
    unsigned count = 0;
    if (const int r = call<int(unsigned*)>("nvmlDeviceGetCount_v2", &count); r != kOk) {
      ready_ = false;  // the driver was unloaded or is not there: begin anew next time
      return fmt::format("node nvml failing\nnode nvml_reason nvmlDeviceGetCount answers {}\n", r);
    }
    out_ += fmt::format("node gpu_count {}\n", count);
    for (unsigned i = 0; i < std::min(count, 64U); ++i) gpu(i);
    events();
    return std::move(out_);
  }

 private:
  template <class F, class... A>
  int call(const char* name, A... args) {
    auto* f = reinterpret_cast<F*>(dlsym(library_, name));
    return f == nullptr ? 13 : f(args...);  // 13: function not found, in NVML's own numbers
  }

  bool open(const std::string& library) {
    if (library_ == nullptr) library_ = dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (library_ == nullptr) {
      why_ = dlerror();
      return false;
    }
    if (const int r = call<int()>("nvmlInit_v2"); r != kOk) {
      why_ = fmt::format("nvmlInit answers {}", r);
      return false;
    }
    ready_ = true;
    set_ = nullptr;
    watched_.clear();
    if (call<int(EventSet*)>("nvmlEventSetCreate", &set_) != kOk) set_ = nullptr;
    return true;
  }

  void system() {
    char text[96] = {};
    if (call<int(char*, unsigned)>("nvmlSystemGetDriverVersion", text, 80U) == kOk) fact("driver_version", text);
    if (call<int(char*, unsigned)>("nvmlSystemGetNVMLVersion", text, 80U) == kOk) fact("nvml_version", text);
    int cuda = 0;
    if (call<int(int*)>("nvmlSystemGetCudaDriverVersion_v2", &cuda) == kOk)
      out_ += fmt::format("node cuda_version {}.{}\n", cuda / 1000, cuda % 1000 / 10);
  }

  void fact(const char* name, const char* value) { out_ += fmt::format("node {} {}\n", name, printable(value)); }
  void fact(unsigned gpu, const char* name, const char* value) {
    out_ += fmt::format("gpu {} {} {}\n", gpu, name, printable(value));
  }
  void value(unsigned gpu, const char* name, double v) { out_ += fmt::format("gpu {} {} {}\n", gpu, name, render_number(v)); }

  // A call that gives one unsigned number.
  void number(unsigned i, Device d, const char* call_name, const char* name, double scale = 1) {
    unsigned v = 0;
    if (call<int(Device, unsigned*)>(call_name, d, &v) == kOk) value(i, name, v * scale);
  }

  void gpu(unsigned i) {
    Device d = nullptr;
    const int r = call<int(unsigned, Device*)>("nvmlDeviceGetHandleByIndex_v2", i, &d);
    if (r != kOk) {
      value(i, "muster_gpu_lost", 1);
      return;
    }
    identity(i, d);
    unsigned temperature = 0;
    const int alive = call<int(Device, int, unsigned*)>("nvmlDeviceGetTemperature", d, 0, &temperature);
    value(i, "muster_gpu_lost", alive == kGpuLost ? 1 : 0);
    if (alive == kGpuLost) return;
    if (alive == kOk) value(i, "DCGM_FI_DEV_GPU_TEMP", temperature);
    heat_and_work(i, d);
    memory(i, d);
    links(i, d);
    watch(i, d);
  }

  void identity(unsigned i, Device d) {
    char text[96] = {};
    if (call<int(Device, char*, unsigned)>("nvmlDeviceGetUUID", d, text, 80U) == kOk) fact(i, "uuid", text);
    if (call<int(Device, char*, unsigned)>("nvmlDeviceGetName", d, text, 96U) == kOk) fact(i, "model", text);
    if (call<int(Device, char*, unsigned)>("nvmlDeviceGetSerial", d, text, 30U) == kOk) fact(i, "serial", text);
    if (call<int(Device, char*, unsigned)>("nvmlDeviceGetVbiosVersion", d, text, 32U) == kOk) fact(i, "vbios", text);
    unsigned minor = i;
    call<int(Device, unsigned*)>("nvmlDeviceGetMinorNumber", d, &minor);
    out_ += fmt::format("gpu {} minor {}\n", i, minor);
    PciInfo pci{};
    if (call<int(Device, PciInfo*)>("nvmlDeviceGetPciInfo_v3", d, &pci) == kOk) {
      pci.bus_id[sizeof pci.bus_id - 1] = '\0';
      fact(i, "pci", pci.bus_id);
    }
  }

  void heat_and_work(unsigned i, Device d) {
    number(i, d, "nvmlDeviceGetPowerUsage", "DCGM_FI_DEV_POWER_USAGE", 1e-3);
    unsigned long long energy = 0;
    if (call<int(Device, unsigned long long*)>("nvmlDeviceGetTotalEnergyConsumption", d, &energy) == kOk)
      value(i, "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", static_cast<double>(energy));
    unsigned mhz = 0;
    if (call<int(Device, unsigned, unsigned*)>("nvmlDeviceGetClockInfo", d, kSmClock, &mhz) == kOk)
      value(i, "DCGM_FI_DEV_SM_CLOCK", mhz);
    if (call<int(Device, unsigned, unsigned*)>("nvmlDeviceGetClockInfo", d, kMemClock, &mhz) == kOk)
      value(i, "DCGM_FI_DEV_MEM_CLOCK", mhz);
    Utilization u{};
    if (call<int(Device, Utilization*)>("nvmlDeviceGetUtilizationRates", d, &u) == kOk) {
      value(i, "DCGM_FI_DEV_GPU_UTIL", u.gpu);
      value(i, "DCGM_FI_DEV_MEM_COPY_UTIL", u.memory);
    }
    unsigned long long reasons = 0;
    int r = call<int(Device, unsigned long long*)>("nvmlDeviceGetCurrentClocksEventReasons", d, &reasons);
    if (r != kOk) r = call<int(Device, unsigned long long*)>("nvmlDeviceGetCurrentClocksThrottleReasons", d, &reasons);
    if (r == kOk) value(i, "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", static_cast<double>(reasons));
    // NVML counts nanoseconds; dcgm-exporter's series count microseconds.
    Violation v{};
    if (call<int(Device, int, Violation*)>("nvmlDeviceGetViolationStatus", d, 0, &v) == kOk)
      value(i, "DCGM_FI_DEV_POWER_VIOLATION", static_cast<double>(v.violation_time / 1000));
    if (call<int(Device, int, Violation*)>("nvmlDeviceGetViolationStatus", d, 1, &v) == kOk)
      value(i, "DCGM_FI_DEV_THERMAL_VIOLATION", static_cast<double>(v.violation_time / 1000));
  }

  void memory(unsigned i, Device d) {
    MemoryV2 m{};
    m.version = sizeof(MemoryV2) | (2U << 24);
    if (call<int(Device, MemoryV2*)>("nvmlDeviceGetMemoryInfo_v2", d, &m) == kOk) {
      constexpr double kMib = 1.0 / (1 << 20);
      value(i, "DCGM_FI_DEV_FB_FREE", static_cast<double>(m.free) * kMib);
      value(i, "DCGM_FI_DEV_FB_USED", static_cast<double>(m.used) * kMib);
      value(i, "DCGM_FI_DEV_FB_RESERVED", static_cast<double>(m.reserved) * kMib);
    }
    struct Ecc {
      int type, counter;
      const char* name;
    };
    constexpr Ecc kEcc[] = {{0, 0, "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL"},
                            {1, 0, "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL"},
                            {0, 1, "DCGM_FI_DEV_ECC_SBE_AGG_TOTAL"},
                            {1, 1, "DCGM_FI_DEV_ECC_DBE_AGG_TOTAL"}};
    for (const Ecc& e : kEcc) {
      unsigned long long n = 0;
      if (call<int(Device, int, int, unsigned long long*)>("nvmlDeviceGetTotalEccErrors", d, e.type, e.counter, &n) == kOk)
        value(i, e.name, static_cast<double>(n));
    }
    unsigned correctable = 0, uncorrectable = 0, pending = 0, failed = 0;
    if (call<int(Device, unsigned*, unsigned*, unsigned*, unsigned*)>("nvmlDeviceGetRemappedRows", d, &correctable,
                                                                      &uncorrectable, &pending, &failed) == kOk) {
      value(i, "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", correctable);
      value(i, "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", uncorrectable);
      value(i, "DCGM_FI_DEV_ROW_REMAP_PENDING", pending);
      value(i, "DCGM_FI_DEV_ROW_REMAP_FAILURE", failed);
    }
  }

  void links(unsigned i, Device d) {
    number(i, d, "nvmlDeviceGetPcieReplayCounter", "DCGM_FI_DEV_PCIE_REPLAY_COUNTER");
    number(i, d, "nvmlDeviceGetCurrPcieLinkGeneration", "DCGM_FI_DEV_PCIE_LINK_GEN");
    number(i, d, "nvmlDeviceGetCurrPcieLinkWidth", "DCGM_FI_DEV_PCIE_LINK_WIDTH");
    number(i, d, "nvmlDeviceGetMaxPcieLinkGeneration", "DCGM_FI_DEV_PCIE_MAX_LINK_GEN");
    number(i, d, "nvmlDeviceGetMaxPcieLinkWidth", "DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH");
    FieldValue fields[std::size(kFields)] = {};
    for (std::size_t k = 0; k < std::size(kFields); ++k) fields[k].id = kFields[k].id;
    if (call<int(Device, int, FieldValue*)>("nvmlDeviceGetFieldValues", d, static_cast<int>(std::size(kFields)), fields) != kOk)
      return;
    for (std::size_t k = 0; k < std::size(kFields); ++k) {
      if (fields[k].status == kOk) value(i, kFields[k].name, as_number(fields[k]));
    }
  }

  static double as_number(const FieldValue& f) {
    switch (f.type) {
      case 0: return f.value.real;
      case 1: return f.value.u32;
      case 2: return static_cast<double>(f.value.u_long);
      case 3: return static_cast<double>(f.value.u64);
      case 4: return static_cast<double>(f.value.s64);
      case 5: return f.value.s32;
      default: return 0;
    }
  }

  void watch(unsigned i, Device d) {
    if (set_ == nullptr || std::any_of(watched_.begin(), watched_.end(), [&](const auto& w) { return w.first == d; })) return;
    call<int(Device, unsigned long long, EventSet)>("nvmlDeviceRegisterEvents", d, kXidEvent, set_);
    watched_.emplace_back(d, i);
  }

  // Xids that came since the last time. NVML knows the code only; the kernel log knows the rest, and sooner.
  void events() {
    EventData e{};
    for (int k = 0;
         set_ != nullptr && k < 100 && call<int(EventSet, EventData*, unsigned)>("nvmlEventSetWait_v2", set_, &e, 0U) == kOk;
         ++k) {
      const auto it = std::find_if(watched_.begin(), watched_.end(), [&](const auto& w) { return w.first == e.device; });
      if (it != watched_.end() && e.type == kXidEvent) out_ += fmt::format("xid {} {}\n", it->second, e.data);
    }
  }

  void* library_ = nullptr;
  bool ready_ = false;
  EventSet set_ = nullptr;
  std::vector<std::pair<Device, unsigned>> watched_;
  std::string why_;
  std::string out_;
};

}  // namespace

std::string ask_nvml(const std::string& library) {
  static Nvml nvml;
  return nvml.ask(library);
}

}  // namespace muster::agent
