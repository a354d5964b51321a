// NodeFacts: who a node's GPUs are and what it runs. Hardly ever changes and is large, while the state is copied many times a
// second: copies share it.
#pragma once
#include <algorithm>
#include <memory>

#include "model/event.h"

namespace muster {

struct FactSheet {
  std::vector<GpuIdentity> gpus;  // by slot; only those that are known
  Facts facts;                    // by name
};

class NodeFacts {
 public:
  const FactSheet& sheet() const {
    static const FactSheet kNothing;
    return sheet_ ? *sheet_ : kNothing;
  }
  const GpuIdentity* gpu(std::int16_t slot) const {
    for (const GpuIdentity& g : sheet().gpus) {
      if (g.slot == slot) return &g;
    }
    return nullptr;
  }
  void put(const GpuIdentity& gpu) {
    FactSheet next = sheet();
    std::erase_if(next.gpus, [&](const GpuIdentity& g) { return g.slot == gpu.slot; });
    const auto at = std::find_if(next.gpus.begin(), next.gpus.end(), [&](const GpuIdentity& g) { return g.slot > gpu.slot; });
    next.gpus.insert(at, gpu);
    set(std::move(next));
  }
  void put(Facts facts) {
    FactSheet next = sheet();
    next.facts = std::move(facts);
    set(std::move(next));
  }
  void set(FactSheet next) { sheet_ = std::make_shared<const FactSheet>(std::move(next)); }

 private:
  std::shared_ptr<const FactSheet> sheet_;
};

}  // namespace muster
