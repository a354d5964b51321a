// Kernel records that name a fault of a GPU, an NVSwitch, a NIC or the host. One event prints several lines and has consequences
// that print more: those are evidence of the first fault, not faults of their own. Exporters tell of Xids too, but only the last
// code of a GPU, which stays, and perhaps how often each came: changes of those are a second witness of the same fault, and the
// only one where no agent runs.
#pragma once
#include <array>
#include <map>
#include <tuple>
#include <vector>

#include "detect/sign.h"
#include "detect/suspect.h"

namespace muster::detect {

class Xids {
 public:
  explicit Xids(const Site& site) : slots_(site.gpus_per_node), told_(site.nodes.size() * site.gpus_per_node), suspect_(site) {}
  void on_record(const KernelRecord& r, const State& s, Time mono, Signs& out);
  void on_sample(const Sample& m, Time mono, Signs& out);  // xid_last, xid_count
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
  // What an exporter has told of one GPU.
  struct Told {
    struct Code {
      std::int32_t code = -1;
      Time at;  // mono: when it stood there last
    };
    std::array<Code, 4> codes;  // the latest first
    Time since, last;           // mono: watched without a long gap from .. to
    Duration gap;               // from the look before the last to the last
  };
  static bool look_at(Told& t, Time mono);
  void on_last(const Sample& m, Time mono, Signs& out);
  void on_count(const Sample& m, Time mono, Signs& out);
  void told(const Sample& m, std::int32_t code, Duration gap, std::string text, Time mono, Signs& out);
  using Coded = std::tuple<NodeId, std::int16_t, std::int32_t>;

  std::uint32_t slots_;
  std::vector<Told> told_;
  std::map<Coded, std::pair<double, Time>> counts_;  // of an exporter: the last count, and when (mono)
  std::map<Gpu, Root> roots_;                        // what began a GPU's trouble, lately
  std::map<Coded, Time> lately_;                     // the same code again within seconds is the same event
  Suspect suspect_;
};

}  // namespace muster::detect
