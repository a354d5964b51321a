#include "adapters/facts/nvml_facts.h"

#include <algorithm>
#include <array>

#include "adapters/agent/nvml_library.h"
#include "base/text.h"

namespace muster::facts {
namespace {

using agent::nvml::Device;
using agent::nvml::kNoPermission;
using agent::nvml::kOk;
using agent::nvml::Library;
using agent::nvml::PciInfo;

constexpr unsigned kGpusMax = 64, kLinksMax = 18;

struct FabricInfo {
  unsigned char cluster[16];
  int status;
  unsigned clique;
  unsigned char state;
};

constexpr const char* kKeys[] = {"gpu.inforom",          "gpu.persistence", "gpu.power_limit_w", "gpu.power_default_w",
                                 "gpu.sm_clock_max_mhz", "gpu.ecc",         "gpu.mig",           "gpu.compute_mode",
                                 "gpu.nvlinks_up",       "gpu.fabric_state"};

// Puts one GPU's answers; what it does not support is absent.
class Asking {
 public:
  Asking(Library& library, Device device, std::string part, Sheet& sheet)
      : lib_(library), d_(device), part_(std::move(part)), sheet_(sheet) {}

  void all() {
    std::array<char, 96> text = {};
    put("gpu.inforom", lib_.call<int(Device, char*, unsigned)>("nvmlDeviceGetInforomImageVersion", d_, text.data(), text.size()),
        std::string(text.data()));
    flag("gpu.persistence", "nvmlDeviceGetPersistenceMode");
    watts("gpu.power_limit_w", "nvmlDeviceGetPowerManagementLimit");
    watts("gpu.power_default_w", "nvmlDeviceGetPowerManagementDefaultLimit");
    unsigned mhz = 0;
    constexpr int kSm = 1;
    const int clock = lib_.call<int(Device, int, unsigned*)>("nvmlDeviceGetMaxClockInfo", d_, kSm, &mhz);
    put("gpu.sm_clock_max_mhz", clock, std::to_string(mhz));
    mode("gpu.ecc", "nvmlDeviceGetEccMode");
    mode("gpu.mig", "nvmlDeviceGetMigMode");
    unsigned compute = 0;
    constexpr std::array kModes = {"default", "exclusive_thread", "prohibited", "exclusive_process"};
    const int r = lib_.call<int(Device, unsigned*)>("nvmlDeviceGetComputeMode", d_, &compute);
    put("gpu.compute_mode", r, compute < kModes.size() ? kModes[compute] : std::to_string(compute));
    links();
    FabricInfo f = {};
    constexpr std::array kStates = {"not_supported", "not_started", "in_progress", "completed"};
    const int fabric = lib_.call<int(Device, FabricInfo*)>("nvmlDeviceGetGpuFabricInfo", d_, &f);
    put("gpu.fabric_state", fabric, f.state < kStates.size() ? kStates[f.state] : std::to_string(f.state));
  }

 private:
  void put(const char* key, int answer, const std::string& value) {
    if (answer == kOk) return sheet_.put(key, value, part_);
    constexpr int kNotSupported = 3;
    answer == kNotSupported ? sheet_.absent(key, part_) : sheet_.unreadable(key, part_);
  }
  void flag(const char* key, const char* function) {
    unsigned on = 0;
    const int r = lib_.call<int(Device, unsigned*)>(function, d_, &on);
    put(key, r, on != 0 ? "on" : "off");
  }
  void mode(const char* key, const char* function) {
    unsigned now = 0, later = 0;
    const int r = lib_.call<int(Device, unsigned*, unsigned*)>(function, d_, &now, &later);
    put(key, r, now != 0 ? "on" : "off");
  }
  void watts(const char* key, const char* function) {
    unsigned mw = 0;
    const int r = lib_.call<int(Device, unsigned*)>(function, d_, &mw);
    put(key, r, std::to_string(mw / 1000));
  }
  void links() {
    unsigned up = 0, known = 0;
    for (unsigned link = 0; link < kLinksMax; ++link) {
      unsigned active = 0;
      if (lib_.call<int(Device, unsigned, unsigned*)>("nvmlDeviceGetNvLinkState", d_, link, &active) != kOk) continue;
      ++known;
      up += active != 0 ? 1 : 0;
    }
    known > 0 ? sheet_.put("gpu.nvlinks_up", std::to_string(up), part_) : sheet_.absent("gpu.nvlinks_up", part_);
  }

  Library& lib_;
  Device d_;
  std::string part_;
  Sheet& sheet_;
};

// NVML writes "00000000:1B:00.0", the bus "0000:1b:00.0".
std::size_t place_of(const std::vector<PciGpu>& gpus, const char* bus_id, std::size_t otherwise) {
  const std::string id = lower(bus_id);
  const auto it = std::find_if(gpus.begin(), gpus.end(), [&](const PciGpu& g) { return id.ends_with(g.address); });
  return it == gpus.end() ? otherwise : static_cast<std::size_t>(it - gpus.begin());
}

}  // namespace

Result<void> probe_nvml(const std::string& library, const std::vector<PciGpu>& gpus, Sheet& sheet) {
  Library lib;
  if (!lib.open(library)) {
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      for (const char* key : kKeys) sheet.unreadable(key, "gpu" + std::to_string(i));
    }
    return fail(Code::unreachable, library + ": " + lib.why(), "leave --nvml out, or see that the driver is loaded");
  }
  unsigned count = 0;
  lib.call<int(unsigned*)>("nvmlDeviceGetCount_v2", &count);
  for (unsigned i = 0; i < std::min(count, kGpusMax); ++i) {
    Device d = nullptr;
    if (lib.call<int(unsigned, Device*)>("nvmlDeviceGetHandleByIndex_v2", i, &d) != kOk) continue;
    PciInfo pci = {};
    const bool known = lib.call<int(Device, PciInfo*)>("nvmlDeviceGetPciInfo_v3", d, &pci) == kOk;
    const std::size_t place = known ? place_of(gpus, pci.bus_id, i) : i;
    Asking(lib, d, "gpu" + std::to_string(place), sheet).all();
  }
  lib.close();
  return {};
}

}  // namespace muster::facts
