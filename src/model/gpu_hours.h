// Where GPU time went, in exact GPU-milliseconds: the classes always sum to `installed`.
#pragma once
#include <array>
#include <cstdint>

#include "model/fields.h"

namespace muster {

enum class Waste : std::uint8_t {
  useful,        // steps whose result is kept
  idle,          // healthy, in service, no job
  starting,      // a gang loading and initialising
  checkpoint,    // steps stopped for writing one
  slow,          // a running gang's time beyond its nominal step time
  lost_restart,  // steps done after the last checkpoint and lost with the attempt
  drained,       // held out of service: under test, repair or a person's hand
  down,          // broken or booting
  unsettled,     // of running gangs, since the last checkpoint: useful or lost, not yet known
};
constexpr std::array<std::string_view, 9> names(Waste) {
  return {"useful", "idle", "starting", "checkpoint", "slow", "lost_restart", "drained", "down", "unsettled"};
}
constexpr std::size_t kWasteClasses = names(Waste{}).size();

struct GpuHours {
  std::int64_t installed_ms = 0;
  std::array<std::int64_t, kWasteClasses> ms{};
  std::int64_t& operator[](Waste w) { return ms[static_cast<std::size_t>(w)]; }
  std::int64_t operator[](Waste w) const { return ms[static_cast<std::size_t>(w)]; }
  auto operator<=>(const GpuHours&) const = default;
};

template <class V>
void fields(V& v, GpuHours& g) {
  v("installed_ms", g.installed_ms);
  v("ms", g.ms);
}

}  // namespace muster
