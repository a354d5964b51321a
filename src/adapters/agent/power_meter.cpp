#include "adapters/agent/power_meter.h"

#include <fmt/core.h>

#include <algorithm>

#include "adapters/agent/nvml_library.h"
#include "base/text.h"

namespace muster::agent {
namespace {

using namespace nvml;
constexpr unsigned kGpusMax = 64;
constexpr unsigned kInstantPower = 186;  // field: milliwatts, not averaged

}  // namespace

struct PowerMeter::Guts {
  Library library;
  std::vector<Gpu> gpus;
  std::vector<Device> devices;

  std::string text_of(Device d, const char* call) {
    char text[96] = {};
    return library.call<int(Device, char*, unsigned)>(call, d, text, 96U) == kOk ? printable(text) : std::string();
  }
};

PowerMeter::PowerMeter(std::unique_ptr<Guts> guts) : guts_(std::move(guts)) {}
PowerMeter::~PowerMeter() { guts_->library.close(); }
const std::vector<PowerMeter::Gpu>& PowerMeter::gpus() const { return guts_->gpus; }

Result<std::unique_ptr<PowerMeter>> PowerMeter::open(const std::string& path) {
  auto guts = std::make_unique<Guts>();
  if (!guts->library.open(path)) {
    return fail(Code::unreachable, fmt::format("NVIDIA's management library does not open: {}", printable(guts->library.why())),
                "is the driver loaded? its library is named by --nvml-library");
  }
  unsigned count = 0;
  if (const int r = guts->library.call<int(unsigned*)>("nvmlDeviceGetCount_v2", &count); r != kOk)
    return fail(Code::unreachable, fmt::format("nvmlDeviceGetCount answers {}", r), "nvidia-smi may say more");
  for (unsigned i = 0; i < std::min(count, kGpusMax); ++i) {
    Device d = nullptr;
    if (guts->library.call<int(unsigned, Device*)>("nvmlDeviceGetHandleByIndex_v2", i, &d) != kOk) continue;
    guts->gpus.push_back({i, guts->text_of(d, "nvmlDeviceGetUUID"), guts->text_of(d, "nvmlDeviceGetName")});
    guts->devices.push_back(d);
  }
  if (guts->gpus.empty()) return fail(Code::not_found, "no GPU answers", "nvidia-smi -L lists those there are");
  return std::unique_ptr<PowerMeter>(new PowerMeter(std::move(guts)));
}

PowerMeter::Reading PowerMeter::read(std::size_t gpu) {
  Library& lib = guts_->library;
  const Device d = guts_->devices.at(gpu);
  Reading out;
  unsigned milliwatts = 0;
  if (lib.call<int(Device, unsigned*)>("nvmlDeviceGetPowerUsage", d, &milliwatts) == kOk) out.power_w = milliwatts / 1e3;
  FieldValue instant{};
  instant.id = kInstantPower;
  if (lib.call<int(Device, int, FieldValue*)>("nvmlDeviceGetFieldValues", d, 1, &instant) == kOk) {
    if (const auto v = as_number(instant)) out.instant_w = *v / 1e3;
  }
  unsigned long long energy = 0;
  constexpr unsigned long long kMost = 1ULL << 62;
  if (lib.call<int(Device, unsigned long long*)>("nvmlDeviceGetTotalEnergyConsumption", d, &energy) == kOk && energy < kMost)
    out.energy_mj = static_cast<std::int64_t>(energy);
  return out;
}

}  // namespace muster::agent
