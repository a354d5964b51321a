#include "adapters/accept/watcher.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <iterator>
#include <vector>

#include "adapters/accept/child.h"
#include "adapters/accept/driver_trouble.h"
#include "adapters/agent/nvml_library.h"

namespace muster::bench {
namespace {

using namespace agent::nvml;

constexpr unsigned kGpusMax = 64;
constexpr unsigned kProcessesMax = 64, kProcessesNamed = 8;
constexpr unsigned kSmClock = 1;
constexpr unsigned kNvLinks = 18;
constexpr double kLinkEveryS = 0.1;          // its generation and width
constexpr double kXidEveryS = 1;
constexpr unsigned kThinnedAfter = 15'000;   // samples, then half as often
constexpr double kThinnestS = 1;             // but no less often than that: whoever says nothing is taken to hang
constexpr unsigned kPowerField = 186, kMemoryTemperatureField = 82;  // what it draws now, not on the mean of a second

struct Field {
  unsigned id;
  const char* name;
};
constexpr Field kCounters[] = {{230, "recovery_action"}, {173, "pcie_corrected"}, {179, "pcie_nonfatal"},
                               {180, "pcie_fatal"},      {169, "pcie_recoveries"}};
// Of each link; they add up over all.
constexpr Field kLinkCounters[] = {{161, "nvlink_replays"}, {162, "nvlink_recoveries"}, {163, "nvlink_crc"}};

class Driver {
 public:
  Driver(int socket, double reading_s) : socket_(socket), every_s_(reading_s) {}

  // False: it does not open, and that was said.
  bool open(const std::string& library) {
    if (!lib_.open(library)) {
      Said s;
      s.kind = Said::Kind::broken;
      s.value[0] = lib_.answered() == kOk ? kNoLibrary : lib_.answered();
      put(s.text, lib_.why());
      say(socket_, s);
      return false;
    }
    unsigned count = 0;
    lib_.call<int(unsigned*)>("nvmlDeviceGetCount_v2", &count);
    gpus_.resize(std::min(count, kGpusMax));
    const bool events = lib_.call<int(EventSet*)>("nvmlEventSetCreate", &xids_) == kOk;
    for (unsigned i = 0; i < gpus_.size(); ++i) {
      Gpu& g = gpus_[i];
      g.status = lib_.call<int(unsigned, Device*)>("nvmlDeviceGetHandleByIndex_v2", i, &g.device);
      if (g.status != kOk) g.device = nullptr;
      if (g.device == nullptr || !events) continue;
      lib_.call<int(Device, unsigned long long, EventSet)>("nvmlDeviceRegisterEvents", g.device, kXidEvent, xids_);
    }
    if (!events) xids_ = nullptr;
    return true;
  }

  [[noreturn]] void serve() {
    for (double next = 0;;) {
      const double now = steady_s();
      if (mask_ != 0 && now >= next) {
        sample(now);
        next = std::max(next + every_s_, now);
      }
      pollfd p{socket_, POLLIN, 0};
      const double wait_s = next - steady_s();
      const int ready = ::poll(&p, 1, mask_ == 0 ? -1 : wait_s <= 0 ? 0 : static_cast<int>(wait_s * 1000) + 1);
      if (ready <= 0) continue;
      Order order;
      const ssize_t n = ::recv(socket_, &order, sizeof order, 0);
      if (n < 0 && errno == EINTR) continue;
      if (n != static_cast<ssize_t>(sizeof order)) ::_exit(0);
      obey(order);
    }
  }

 private:
  struct Gpu {
    Device device = nullptr;
    int status = kOk;  // of the handle
  };

  void obey(const Order& order) {
    number_ = order.number;
    switch (order.kind) {
      case Order::Kind::who: who(); break;
      case Order::Kind::look: each([this](int i, Device d) { look(i, d); }); break;
      case Order::Kind::counters:
        each([this](int i, Device d) { counters(i, d); });
        tell_xids();
        break;
      case Order::Kind::sample: mask_ = order.mask; return;
      case Order::Kind::rest: mask_ = 0; return;
      default: ::_exit(0);
    }
    Said s;
    s.kind = Said::Kind::answered;
    s.number = number_;
    say(socket_, s);
  }

  template <class F>
  void each(const F& f) {
    for (unsigned i = 0; i < gpus_.size(); ++i) {
      if (gpus_[i].device != nullptr) f(static_cast<int>(i), gpus_[i].device);
    }
  }

  void fact(int gpu, const char* name, const char* text) {
    Said s;
    s.kind = Said::Kind::fact;
    s.gpu = gpu, s.number = number_;
    put(s.name, name), put(s.text, text);
    say(socket_, s);
  }
  void figure(int gpu, const char* name, double value) {
    Said s;
    s.kind = Said::Kind::figure;
    s.gpu = gpu, s.number = number_, s.value[0] = value;
    put(s.name, name);
    say(socket_, s);
  }
  void number(int i, Device d, const char* call, const char* name, double scale = 1) {
    unsigned v = 0;
    if (lib_.call<int(Device, unsigned*)>(call, d, &v) == kOk) figure(i, name, v * scale);
  }

  // A GPU may have been lost since its handle was had.
  int state_of(const Gpu& g) {
    unsigned celsius = 0;
    if (g.status != kOk) return g.status;
    const int r = lib_.call<int(Device, int, unsigned*)>("nvmlDeviceGetTemperature", g.device, 0, &celsius);
    return r == kGpuLost || r == kResetRequired ? r : kOk;
  }

  void who() {
    char text[96] = {};
    if (lib_.call<int(char*, unsigned)>("nvmlSystemGetDriverVersion", text, 80U) == kOk) fact(-1, "driver", text);
    figure(-1, "gpus", static_cast<double>(gpus_.size()));
    for (unsigned i = 0; i < gpus_.size(); ++i) {
      const int n = static_cast<int>(i);
      figure(n, "status", state_of(gpus_[i]));
      if (gpus_[i].device != nullptr) identity(n, gpus_[i].device);
    }
  }

  void identity(int i, Device d) {
    char text[96] = {};
    const std::pair<const char*, const char*> facts[] = {{"nvmlDeviceGetUUID", "uuid"},
                                                         {"nvmlDeviceGetSerial", "serial"},
                                                         {"nvmlDeviceGetName", "model"},
                                                         {"nvmlDeviceGetVbiosVersion", "vbios"},
                                                         {"nvmlDeviceGetBoardPartNumber", "part"}};
    for (const auto& [call, name] : facts) {
      if (lib_.call<int(Device, char*, unsigned)>(call, d, text, 96U) == kOk) fact(i, name, text);
    }
    PciInfo pci{};
    if (lib_.call<int(Device, PciInfo*)>("nvmlDeviceGetPciInfo_v3", d, &pci) == kOk) {
      pci.bus_id[sizeof pci.bus_id - 1] = '\0';
      fact(i, "pci", pci.bus_id);
    }
    MemoryV2 m{};
    m.version = sizeof(MemoryV2) | (2U << 24);
    if (lib_.call<int(Device, MemoryV2*)>("nvmlDeviceGetMemoryInfo_v2", d, &m) == kOk) {
      figure(i, "memory_mib", static_cast<double>(m.total >> 20));
    }
    number(i, d, "nvmlDeviceGetEnforcedPowerLimit", "power_limit_w", 1e-3);
    number(i, d, "nvmlDeviceGetPowerManagementDefaultLimit", "power_default_w", 1e-3);
    number(i, d, "nvmlDeviceGetMaxPcieLinkGeneration", "link_gen_max");
    number(i, d, "nvmlDeviceGetMaxPcieLinkWidth", "link_width_max");
    unsigned divided = 0, pending = 0;
    if (lib_.call<int(Device, unsigned*, unsigned*)>("nvmlDeviceGetMigMode", d, &divided, &pending) == kOk) {
      figure(i, "divided", divided);
    }
  }

  void look(int i, Device d) {
    figure(i, "status", state_of(gpus_[static_cast<std::size_t>(i)]));
    Utilization u{};
    if (lib_.call<int(Device, Utilization*)>("nvmlDeviceGetUtilizationRates", d, &u) == kOk) figure(i, "busy_pct", u.gpu);
    MemoryV2 m{};
    m.version = sizeof(MemoryV2) | (2U << 24);
    if (lib_.call<int(Device, MemoryV2*)>("nvmlDeviceGetMemoryInfo_v2", d, &m) == kOk) {
      figure(i, "used_mib", static_cast<double>(m.used) / (1 << 20));
    }
    ProcessInfo processes[kProcessesMax] = {};
    unsigned n = kProcessesMax;
    const int r = lib_.call<int(Device, unsigned*, ProcessInfo*)>("nvmlDeviceGetComputeRunningProcesses_v3", d, &n, processes);
    if (r != kOk && r != kInsufficientSize) return;
    figure(i, "processes", n);
    for (unsigned k = 0; r == kOk && k < std::min(n, kProcessesMax); ++k) {
      fact(i, "process", fmt::format("{} {}", processes[k].pid, k < kProcessesNamed ? name_of(processes[k].pid) : "").c_str());
    }
  }

  static std::string name_of(unsigned pid) {
    char text[64] = {};
    const int fd = ::open(fmt::format("/proc/{}/comm", pid).c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return {};
    const ssize_t n = ::read(fd, text, sizeof text - 1);
    ::close(fd);
    return std::string(trim({text, n > 0 ? static_cast<std::size_t>(n) : 0}));
  }

  void counters(int i, Device d) {
    unsigned long long n = 0;
    if (lib_.call<int(Device, int, int, unsigned long long*)>("nvmlDeviceGetTotalEccErrors", d, 0, 0, &n) == kOk)
      figure(i, "ecc_corrected", static_cast<double>(n));
    if (lib_.call<int(Device, int, int, unsigned long long*)>("nvmlDeviceGetTotalEccErrors", d, 1, 0, &n) == kOk)
      figure(i, "ecc_uncorrected", static_cast<double>(n));
    unsigned correctable = 0, uncorrectable = 0, pending = 0, failed = 0;
    if (lib_.call<int(Device, unsigned*, unsigned*, unsigned*, unsigned*)>("nvmlDeviceGetRemappedRows", d, &correctable,
                                                                           &uncorrectable, &pending, &failed) == kOk) {
      figure(i, "remapped_correctable", correctable);
      figure(i, "remapped_uncorrectable", uncorrectable);
      figure(i, "remap_pending", pending);
      figure(i, "remap_failure", failed);
    }
    SramStatus sram{};
    sram.version = sizeof(SramStatus) | (1U << 24);
    if (lib_.call<int(Device, SramStatus*)>("nvmlDeviceGetSramEccErrorStatus", d, &sram) == kOk)
      figure(i, "sram_exceeded", sram.exceeded != 0 ? 1 : 0);
    number(i, d, "nvmlDeviceGetPcieReplayCounter", "pcie_replays");
    Violation v{};
    if (lib_.call<int(Device, int, Violation*)>("nvmlDeviceGetViolationStatus", d, 0, &v) == kOk)
      figure(i, "power_violation_s", static_cast<double>(v.violation_time) * 1e-9);
    if (lib_.call<int(Device, int, Violation*)>("nvmlDeviceGetViolationStatus", d, 1, &v) == kOk)
      figure(i, "thermal_violation_s", static_cast<double>(v.violation_time) * 1e-9);
    unsigned long long millijoules = 0;
    if (lib_.call<int(Device, unsigned long long*)>("nvmlDeviceGetTotalEnergyConsumption", d, &millijoules) == kOk)
      figure(i, "energy_j", static_cast<double>(millijoules) * 1e-3);
    fields(i, d);
  }

  void fields(int i, Device d) {
    FieldValue own[std::size(kCounters)] = {};
    for (std::size_t k = 0; k < std::size(own); ++k) own[k].id = kCounters[k].id;
    if (lib_.call<int(Device, int, FieldValue*)>("nvmlDeviceGetFieldValues", d, static_cast<int>(std::size(own)), own) == kOk) {
      for (std::size_t k = 0; k < std::size(own); ++k) {
        if (const auto v = as_number(own[k])) figure(i, kCounters[k].name, *v);
      }
    }
    constexpr std::size_t kKinds = std::size(kLinkCounters);
    FieldValue links[kKinds * kNvLinks] = {};
    for (std::size_t k = 0; k < std::size(links); ++k) {
      links[k].id = kLinkCounters[k % kKinds].id;
      links[k].scope = static_cast<unsigned>(k / kKinds);
    }
    const int count = static_cast<int>(std::size(links));
    if (lib_.call<int(Device, int, FieldValue*)>("nvmlDeviceGetFieldValues", d, count, links) != kOk) return;
    std::array<std::optional<double>, kKinds> sums;
    for (std::size_t k = 0; k < std::size(links); ++k) {
      if (const auto v = as_number(links[k])) sums[k % kKinds] = sums[k % kKinds].value_or(0) + *v;
    }
    for (std::size_t k = 0; k < kKinds; ++k) {
      if (sums[k]) figure(i, kLinkCounters[k].name, *sums[k]);
    }
  }

  void sample(double now) {
    if (++samples_ % kThinnedAfter == 0) every_s_ = std::max(every_s_, std::min(2 * every_s_, kThinnestS));
    const bool with_link = now >= link_at_s_;
    each([&](int i, Device d) {
      if ((mask_ >> i & 1) != 0) reading(i, d, now, with_link);
    });
    say_if_heard(socket_, {});  // that it is alive, even where no GPU is any more
    if (with_link) link_at_s_ = now + kLinkEveryS;
    if (now < xids_at_s_) return;
    xids_at_s_ = now + kXidEveryS;
    tell_xids();
  }

  void reading(int i, Device d, double now, bool with_link) {
    Said s;
    s.kind = Said::Kind::reading;
    s.gpu = i;
    s.value[0] = now;
    for (std::size_t k = 1; k < std::size(s.value); ++k) s.value[k] = -1;
    FieldValue fields[2] = {};
    fields[0].id = kPowerField, fields[1].id = kMemoryTemperatureField;
    if (lib_.call<int(Device, int, FieldValue*)>("nvmlDeviceGetFieldValues", d, 2, fields) == kOk) {
      if (const auto v = as_number(fields[0])) s.value[1] = *v * 1e-3;
      if (const auto v = as_number(fields[1])) s.value[4] = *v;
    }
    unsigned v = 0;
    if (s.value[1] < 0 && lib_.call<int(Device, unsigned*)>("nvmlDeviceGetPowerUsage", d, &v) == kOk) s.value[1] = v * 1e-3;
    if (lib_.call<int(Device, unsigned, unsigned*)>("nvmlDeviceGetClockInfo", d, kSmClock, &v) == kOk) s.value[2] = v;
    if (lib_.call<int(Device, int, unsigned*)>("nvmlDeviceGetTemperature", d, 0, &v) == kOk) s.value[3] = v;
    unsigned long long reasons = 0;
    int r = lib_.call<int(Device, unsigned long long*)>("nvmlDeviceGetCurrentClocksEventReasons", d, &reasons);
    if (r != kOk) r = lib_.call<int(Device, unsigned long long*)>("nvmlDeviceGetCurrentClocksThrottleReasons", d, &reasons);
    s.count = r == kOk ? reasons : 0;
    if (with_link) {
      if (lib_.call<int(Device, unsigned*)>("nvmlDeviceGetCurrPcieLinkGeneration", d, &v) == kOk) s.value[5] = v;
      if (lib_.call<int(Device, unsigned*)>("nvmlDeviceGetCurrPcieLinkWidth", d, &v) == kOk) s.value[6] = v;
    }
    if (s.value[1] >= 0 || s.value[2] >= 0 || s.value[3] >= 0) say_if_heard(socket_, s);  // else it is lost
  }

  void tell_xids() {
    for (int most = 16; xids_ != nullptr && most > 0; --most) {
      EventData e{};
      if (lib_.call<int(EventSet, EventData*, unsigned)>("nvmlEventSetWait_v2", xids_, &e, 0U) != kOk) return;
      for (unsigned i = 0; i < gpus_.size(); ++i) {
        if (gpus_[i].device != e.device || e.type != kXidEvent) continue;
        Said s;
        s.kind = Said::Kind::xid;
        s.gpu = static_cast<int>(i), s.count = e.data;
        say(socket_, s);
      }
    }
  }

  int socket_;
  double every_s_;
  Library lib_;
  std::vector<Gpu> gpus_;
  EventSet xids_ = nullptr;
  std::uint32_t number_ = 0;
  std::uint64_t mask_ = 0;
  std::uint64_t samples_ = 0;
  double link_at_s_ = 0, xids_at_s_ = 0;
};

}  // namespace

void watch_driver(int socket, const std::string& library, double reading_s) {
  Driver driver(socket, reading_s);
  if (!driver.open(library)) ::_exit(0);
  driver.serve();
}

}  // namespace muster::bench
