#include "adapters/agent/nvml.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <vector>

#include "adapters/agent/nvml_library.h"
#include "base/text.h"

namespace muster::agent {
namespace {

using namespace nvml;

constexpr unsigned kGpusMax = 64;
constexpr unsigned kSmClock = 1, kMemClock = 2;
constexpr unsigned kSlowEvery = 10;  // of the times it is asked: what the GPU's own processor takes a millisecond or so for
constexpr unsigned kRareEvery = 60;  // likewise: who a GPU is, and its limits
constexpr unsigned kNvLinks = 18;

// Set by the watcher: an Xid came, so the counters are worth reading now.
std::atomic<bool> news{false};

struct Field {
  unsigned id;
  const char* name;
};
// Fields that have no call of their own. Those of a link add up over all links.
constexpr Field kQuickFields[] = {{82, "DCGM_FI_DEV_MEMORY_TEMP"}, {230, "DCGM_FI_DEV_GET_GPU_RECOVERY_ACTION"}};
constexpr Field kSlowFields[] = {{38, "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL"},
                                 {45, "DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL"},
                                 {52, "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL"},
                                 {59, "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL"},
                                 {173, "DCGM_FI_DEV_PCIE_COUNT_CORRECTABLE_ERRORS"}};
constexpr Field kLinkFields[] = {{161, "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL"},
                                 {162, "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL"},
                                 {163, "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL"}};

class Gpus {
 public:
  std::string ask(const std::string& path) {
    if (!lib_.ready() && !lib_.open(path)) return fmt::format("node nvml absent\nnode nvml_reason {}\n", printable(lib_.why()));
    unsigned count = 0;
    if (const int r = lib_.call<int(unsigned*)>("nvmlDeviceGetCount_v2", &count); r != kOk) {
      lib_.close();
      asked_ = 0;
      return fmt::format("node nvml failing\nnode nvml_reason nvmlDeviceGetCount answers {}\n", r);
    }
    const bool rare = asked_ % kRareEvery == 0 || count != slow_.size();
    const bool slow = rare || asked_ % kSlowEvery == 0 || news.exchange(false);
    ++asked_;
    if (rare) node_ = system();
    if (rare) rare_.assign(count, "");
    slow_.resize(count);
    std::string out = "node nvml present\n" + node_ + fmt::format("node gpu_count {}\n", count);
    for (unsigned i = 0; i < std::min(count, kGpusMax); ++i) out += gpu(i, rare, slow);
    return out;
  }

 private:
  std::string system() {
    out_.clear();
    char text[96] = {};
    if (lib_.call<int(char*, unsigned)>("nvmlSystemGetDriverVersion", text, 80U) == kOk) fact("driver_version", text);
    if (lib_.call<int(char*, unsigned)>("nvmlSystemGetNVMLVersion", text, 80U) == kOk) fact("nvml_version", text);
    int cuda = 0;
    if (lib_.call<int(int*)>("nvmlSystemGetCudaDriverVersion_v2", &cuda) == kOk)
      out_ += fmt::format("node cuda_version {}.{}\n", cuda / 1000, cuda % 1000 / 10);
    return std::move(out_);
  }

  void fact(const char* name, const char* value) { out_ += fmt::format("node {} {}\n", name, printable(value)); }
  void fact(unsigned gpu, const char* name, const char* value) {
    out_ += fmt::format("gpu {} {} {}\n", gpu, name, printable(value));
  }
  void value(unsigned gpu, const char* name, double v) { out_ += fmt::format("gpu {} {} {}\n", gpu, name, render_number(v)); }

  // A call that gives one unsigned number.
  void number(unsigned i, Device d, const char* call_name, const char* name, double scale = 1) {
    unsigned v = 0;
    if (lib_.call<int(Device, unsigned*)>(call_name, d, &v) == kOk) value(i, name, v * scale);
  }

  std::string gpu(unsigned i, bool rare, bool slow) {
    Device d = nullptr;
    const int r = lib_.call<int(unsigned, Device*)>("nvmlDeviceGetHandleByIndex_v2", i, &d);
    out_.clear();
    if (r == kOk && rare) {
      identity(i, d);
      limits(i, d);
      rare_[i] = std::exchange(out_, {});
    }
    unsigned temperature = 0;
    const int alive = r != kOk ? r : lib_.call<int(Device, int, unsigned*)>("nvmlDeviceGetTemperature", d, 0, &temperature);
    const bool lost = r != kOk || alive == kGpuLost;
    value(i, "muster_gpu_lost", lost ? 1 : 0);
    if (lost) return rare_[i] + std::move(out_);
    if (alive == kOk) value(i, "DCGM_FI_DEV_GPU_TEMP", temperature);
    heat_and_work(i, d);
    memory(i, d);
    std::string quick = std::exchange(out_, {});
    if (slow) {
      slow_counters(i, d);
      slow_[i] = std::exchange(out_, {});
    }
    return rare_[i] + quick + slow_[i];
  }

  void identity(unsigned i, Device d) {
    char text[96] = {};
    const std::pair<const char*, const char*> facts[] = {{"nvmlDeviceGetUUID", "uuid"},
                                                         {"nvmlDeviceGetName", "model"},
                                                         {"nvmlDeviceGetSerial", "serial"},
                                                         {"nvmlDeviceGetVbiosVersion", "vbios"},
                                                         {"nvmlDeviceGetBoardPartNumber", "part"},
                                                         {"nvmlDeviceGetInforomImageVersion", "inforom"}};
    for (const auto& [call, name] : facts) {
      if (lib_.call<int(Device, char*, unsigned)>(call, d, text, 96U) == kOk) fact(i, name, text);
    }
    unsigned minor = i;
    lib_.call<int(Device, unsigned*)>("nvmlDeviceGetMinorNumber", d, &minor);
    out_ += fmt::format("gpu {} minor {}\n", i, minor);
    PciInfo pci{};
    if (lib_.call<int(Device, PciInfo*)>("nvmlDeviceGetPciInfo_v3", d, &pci) == kOk) {
      pci.bus_id[sizeof pci.bus_id - 1] = '\0';
      fact(i, "pci", pci.bus_id);
    }
  }

  void limits(unsigned i, Device d) {
    unsigned celsius = 0;
    if (lib_.call<int(Device, int, unsigned*)>("nvmlDeviceGetTemperatureThreshold", d, 0, &celsius) == kOk)
      value(i, "DCGM_FI_DEV_SHUTDOWN_TEMP", celsius);
    if (lib_.call<int(Device, int, unsigned*)>("nvmlDeviceGetTemperatureThreshold", d, 1, &celsius) == kOk)
      value(i, "DCGM_FI_DEV_SLOWDOWN_TEMP", celsius);
    number(i, d, "nvmlDeviceGetEnforcedPowerLimit", "DCGM_FI_DEV_ENFORCED_POWER_LIMIT", 1e-3);
    number(i, d, "nvmlDeviceGetMaxPcieLinkGeneration", "DCGM_FI_DEV_PCIE_MAX_LINK_GEN");
    number(i, d, "nvmlDeviceGetMaxPcieLinkWidth", "DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH");
  }

  void heat_and_work(unsigned i, Device d) {
    number(i, d, "nvmlDeviceGetPowerUsage", "DCGM_FI_DEV_POWER_USAGE", 1e-3);
    unsigned mhz = 0;
    if (lib_.call<int(Device, unsigned, unsigned*)>("nvmlDeviceGetClockInfo", d, kSmClock, &mhz) == kOk)
      value(i, "DCGM_FI_DEV_SM_CLOCK", mhz);
    if (lib_.call<int(Device, unsigned, unsigned*)>("nvmlDeviceGetClockInfo", d, kMemClock, &mhz) == kOk)
      value(i, "DCGM_FI_DEV_MEM_CLOCK", mhz);
    Utilization u{};
    if (lib_.call<int(Device, Utilization*)>("nvmlDeviceGetUtilizationRates", d, &u) == kOk) {
      value(i, "DCGM_FI_DEV_GPU_UTIL", u.gpu);
      value(i, "DCGM_FI_DEV_MEM_COPY_UTIL", u.memory);
    }
    unsigned long long reasons = 0;
    int r = lib_.call<int(Device, unsigned long long*)>("nvmlDeviceGetCurrentClocksEventReasons", d, &reasons);
    if (r != kOk) r = lib_.call<int(Device, unsigned long long*)>("nvmlDeviceGetCurrentClocksThrottleReasons", d, &reasons);
    if (r == kOk) value(i, "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", static_cast<double>(reasons));
    number(i, d, "nvmlDeviceGetCurrPcieLinkGeneration", "DCGM_FI_DEV_PCIE_LINK_GEN");
    number(i, d, "nvmlDeviceGetCurrPcieLinkWidth", "DCGM_FI_DEV_PCIE_LINK_WIDTH");
    unsigned processes = 0;
    r = lib_.call<int(Device, unsigned*, void*)>("nvmlDeviceGetComputeRunningProcesses_v3", d, &processes, nullptr);
    if (r == kOk || r == kInsufficientSize) value(i, "muster_gpu_processes", processes);
    read_fields(i, d, kQuickFields);
  }

  void memory(unsigned i, Device d) {
    MemoryV2 m{};
    m.version = sizeof(MemoryV2) | (2U << 24);
    if (lib_.call<int(Device, MemoryV2*)>("nvmlDeviceGetMemoryInfo_v2", d, &m) == kOk) {
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
      if (lib_.call<int(Device, int, int, unsigned long long*)>("nvmlDeviceGetTotalEccErrors", d, e.type, e.counter, &n) == kOk)
        value(i, e.name, static_cast<double>(n));
    }
    SramStatus sram{};
    sram.version = sizeof(SramStatus) | (1U << 24);
    if (lib_.call<int(Device, SramStatus*)>("nvmlDeviceGetSramEccErrorStatus", d, &sram) == kOk)
      value(i, "DCGM_FI_DEV_THRESHOLD_SRM", sram.exceeded != 0 ? 1 : 0);
    unsigned correctable = 0, uncorrectable = 0, pending = 0, failed = 0;
    if (lib_.call<int(Device, unsigned*, unsigned*, unsigned*, unsigned*)>("nvmlDeviceGetRemappedRows", d, &correctable,
                                                                           &uncorrectable, &pending, &failed) == kOk) {
      value(i, "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", correctable);
      value(i, "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", uncorrectable);
      value(i, "DCGM_FI_DEV_ROW_REMAP_PENDING", pending);
      value(i, "DCGM_FI_DEV_ROW_REMAP_FAILURE", failed);
    }
  }

  // Seen on an H200: energy 4 ms, margin 1 ms, each violation 0.7 ms, PCIe counters 0.2 ms; everything else some microseconds.
  void slow_counters(unsigned i, Device d) {
    Margin margin{sizeof(Margin) | (1U << 24), 0};
    if (lib_.call<int(Device, Margin*)>("nvmlDeviceGetMarginTemperature", d, &margin) == kOk)
      value(i, "DCGM_FI_DEV_GPU_TEMP_LIMIT", margin.celsius);
    unsigned long long energy = 0;
    if (lib_.call<int(Device, unsigned long long*)>("nvmlDeviceGetTotalEnergyConsumption", d, &energy) == kOk)
      value(i, "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", static_cast<double>(energy));
    number(i, d, "nvmlDeviceGetPcieReplayCounter", "DCGM_FI_DEV_PCIE_REPLAY_COUNTER");
    // NVML counts nanoseconds; dcgm-exporter's series count microseconds.
    Violation v{};
    if (lib_.call<int(Device, int, Violation*)>("nvmlDeviceGetViolationStatus", d, 0, &v) == kOk)
      value(i, "DCGM_FI_DEV_POWER_VIOLATION", static_cast<double>(v.violation_time / 1000));
    if (lib_.call<int(Device, int, Violation*)>("nvmlDeviceGetViolationStatus", d, 1, &v) == kOk)
      value(i, "DCGM_FI_DEV_THERMAL_VIOLATION", static_cast<double>(v.violation_time / 1000));
    read_fields(i, d, kSlowFields);
    read_link_fields(i, d);
  }

  template <std::size_t N>
  void read_fields(unsigned i, Device d, const Field (&wanted)[N]) {
    FieldValue fields[N] = {};
    for (std::size_t k = 0; k < N; ++k) fields[k].id = wanted[k].id;
    if (lib_.call<int(Device, int, FieldValue*)>("nvmlDeviceGetFieldValues", d, static_cast<int>(N), fields) != kOk) return;
    for (std::size_t k = 0; k < N; ++k) {
      if (const auto v = as_number(fields[k])) value(i, wanted[k].name, *v);
    }
  }

  // Newer GPUs count link by link and give no totals.
  void read_link_fields(unsigned i, Device d) {
    constexpr std::size_t kKinds = std::size(kLinkFields);
    FieldValue fields[kKinds * kNvLinks] = {};
    for (std::size_t k = 0; k < std::size(fields); ++k) {
      fields[k].id = kLinkFields[k % kKinds].id;
      fields[k].scope = static_cast<unsigned>(k / kKinds);
    }
    const int count = static_cast<int>(std::size(fields));
    if (lib_.call<int(Device, int, FieldValue*)>("nvmlDeviceGetFieldValues", d, count, fields) != kOk) return;
    std::map<const char*, double> sums;
    for (std::size_t k = 0; k < std::size(fields); ++k) {
      if (const auto v = as_number(fields[k])) sums[kLinkFields[k % kKinds].name] += *v;
    }
    for (const auto& [name, sum] : sums) value(i, name, sum);
  }

  Library lib_;
  unsigned asked_ = 0;
  std::string node_;               // what was read of the node the last time
  std::vector<std::string> rare_;  // of each GPU, likewise
  std::vector<std::string> slow_;
  std::string out_;
};

}  // namespace

std::string ask_nvml(const std::string& library) {
  static Gpus gpus;
  return gpus.ask(library);
}

void watch_nvml(const std::string& path, const std::function<void(const std::string&)>& tell) {
  constexpr unsigned kWaitMs = 5000;  // then the GPUs are counted again
  constexpr unsigned kRetrySeconds = 5;
  for (Library lib;; lib.close(), sleep(kRetrySeconds)) {
    EventSet set = nullptr;
    unsigned count = 0;
    if (!lib.open(path) || lib.call<int(EventSet*)>("nvmlEventSetCreate", &set) != kOk) continue;
    std::vector<std::pair<Device, unsigned>> watched;
    if (lib.call<int(unsigned*)>("nvmlDeviceGetCount_v2", &count) != kOk) count = 0;
    for (unsigned i = 0; i < std::min(count, kGpusMax); ++i) {
      Device d = nullptr;
      if (lib.call<int(unsigned, Device*)>("nvmlDeviceGetHandleByIndex_v2", i, &d) != kOk) continue;
      if (lib.call<int(Device, unsigned long long, EventSet)>("nvmlDeviceRegisterEvents", d, kXidEvent, set) != kOk) continue;
      watched.emplace_back(d, i);
    }
    int r = watched.empty() ? kGpuLost : kOk;
    while (r == kOk || r == kTimeout) {
      EventData e{};
      r = lib.call<int(EventSet, EventData*, unsigned)>("nvmlEventSetWait_v2", set, &e, kWaitMs);
      const auto it = std::find_if(watched.begin(), watched.end(), [&](const auto& w) { return w.first == e.device; });
      if (r != kOk || it == watched.end() || e.type != kXidEvent) continue;
      PciInfo pci{};
      lib.call<int(Device, PciInfo*)>("nvmlDeviceGetPciInfo_v3", it->first, &pci);
      pci.bus_id[sizeof pci.bus_id - 1] = '\0';
      tell(fmt::format("xid {} {} {}\n", it->second, e.data, pci.bus_id[0] == '\0' ? "-" : printable(pci.bus_id)));
      news = true;
    }
    lib.call<int(EventSet)>("nvmlEventSetFree", set);
  }
}

}  // namespace muster::agent
