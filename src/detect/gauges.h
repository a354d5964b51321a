// The newest readings of every GPU, which detectors compare: a reading means little without its load and its peers.
#pragma once
#include <algorithm>
#include <array>
#include <vector>

#include "model/sample.h"
#include "model/site.h"

namespace muster::detect {

class Gauges {
 public:
  struct Gpu {
    float temp_c = -1000, power_w = -1, clock_mhz = -1, util_pct = -1;
    std::uint32_t reasons = 0;  // clock event reasons
    bool busy() const { return util_pct >= 50; }
  };

  explicit Gauges(const Site& site) : slots_(site.gpus_per_node), gpus_(site.nodes.size() * site.gpus_per_node) {}

  void on_sample(const Sample& m) {
    if (m.slot < 0) return;
    Gpu& g = at(m.node, m.slot);
    switch (m.field) {
      case Field::gpu_temp_c: g.temp_c = static_cast<float>(m.value); break;
      case Field::power_w: g.power_w = static_cast<float>(m.value); break;
      case Field::sm_clock_mhz: g.clock_mhz = static_cast<float>(m.value); break;
      case Field::gpu_util_pct: g.util_pct = static_cast<float>(m.value); break;
      case Field::clock_reasons:
        g.reasons = m.value >= 0 && m.value < 4294967296.0 ? static_cast<std::uint32_t>(m.value) : 0;
        break;
      default: break;
    }
  }
  Gpu& at(NodeId n, std::int16_t slot) { return gpus_[n.v * slots_ + static_cast<std::size_t>(slot)]; }
  const Gpu& at(NodeId n, std::int16_t slot) const { return gpus_[n.v * slots_ + static_cast<std::size_t>(slot)]; }
  std::uint32_t slots() const { return slots_; }

  // The middle of what `read` gives for the node's other GPUs that `use` admits; `otherwise` when fewer than `least` do.
  template <class Use, class Read>
  float peers(NodeId n, std::int16_t slot, std::size_t least, float otherwise, Use use, Read read) const {
    std::array<float, 16> v{};
    std::size_t count = 0;
    for (std::uint32_t i = 0; i < slots_ && count < v.size(); ++i) {
      const Gpu& g = at(n, static_cast<std::int16_t>(i));
      if (static_cast<std::int16_t>(i) != slot && use(g)) v[count++] = read(g);
    }
    if (count < least) return otherwise;
    const auto middle = v.begin() + static_cast<std::ptrdiff_t>(count / 2);
    std::nth_element(v.begin(), middle, v.begin() + static_cast<std::ptrdiff_t>(count));
    return *middle;
  }

 private:
  std::uint32_t slots_;
  std::vector<Gpu> gpus_;
};

}  // namespace muster::detect
