// Kernel records that name a fault of a GPU, an NVSwitch, a NIC or the host. One event prints several lines and has consequences
// that print more: those are evidence of the first fault, not faults of their own.
#pragma once
#include <map>
#include <tuple>

#include "detect/sign.h"
#include "detect/suspect.h"

namespace muster::detect {

class Xids {
 public:
  explicit Xids(const Site& site) : suspect_(site) {}
  void on_record(const KernelRecord& r, const State& s, Time mono, Signs& out);
  void on_turn(const State& s, Time utc, Time mono, Signs& out) { suspect_.on_turn(s, utc, mono, out); }
  Time next() const { return suspect_.next(); }

 private:
  using Gpu = std::pair<NodeId, std::int16_t>;
  struct Root {
    FindingKind kind = FindingKind::gpu_fault;
    std::int32_t code = 0;
    Time at;  // mono
  };
  void on_xid(const KernelRecord& r, const State& s, Time mono, Signs& out);
  void begin(const KernelRecord& r, FindingKind kind, Severity severity, std::int32_t code, Time mono, Signs& out);
  const Root* root_of(const KernelRecord& r, FindingKind kind, Time mono, Gpu& where) const;
  void forget(Time mono);

  std::map<Gpu, Root> roots_;                                              // what began a GPU's trouble, lately
  std::map<std::tuple<NodeId, std::int16_t, std::int32_t>, Time> lately_;  // the same code again within seconds is the same event
  Suspect suspect_;
};

}  // namespace muster::detect
