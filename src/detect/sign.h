// What a single detector says: it saw something (Sign), or saw that something is over (Relief).
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "model/finding.h"
#include "model/sample.h"
#include "model/state.h"

namespace muster::detect {

struct Sign {
  FindingKind kind = FindingKind::gpu_lost;
  Severity severity = Severity::warning;
  NodeId node;
  std::int16_t slot = -1;
  JobId job;
  std::int32_t code = 0;
  Evidence evidence;
  Time since;           // utc: when it began, where that is not when it was seen
  std::string subject;  // what neither node nor slot says: a mount
  std::uint32_t loss_pct = 0;
  bool tell = false;  // worth an event even if the same witness has spoken before
};

// Where a kernel record can be found again.
inline std::string record_ref(const KernelRecord& r) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string boot;
  for (std::uint64_t b = r.boot; b != 0 || boot.empty(); b >>= 4) boot.insert(boot.begin(), kHex[b & 15]);
  return "kmsg:" + boot + "/" + std::to_string(r.seq);
}

struct Relief {
  FindingKind kind = FindingKind::gpu_lost;
  NodeId node;
  std::int16_t slot = -1;
  JobId job;
  const char* why = "";  // a literal: most reliefs concern nothing and must cost nothing
  std::string subject;   // empty: whatever the subject
};

struct Signs {
  std::vector<Sign> seen;
  std::vector<Relief> gone;

  void see(FindingKind k, Severity sev, NodeId n, std::int16_t slot, Witness w, Time at, std::string text) {
    seen.push_back({k, sev, n, slot, {}, 0, {w, at, {}, std::move(text)}});
  }
  void clear(FindingKind k, NodeId n, std::int16_t slot, const char* why) { gone.push_back({k, n, slot, {}, why}); }
};

// A rolling upgrade has had the node install something in its turn, which is not over; null: none has.
inline const Turn* installed_lately(const State& s, NodeId n) {
  const auto t = s.upgrade.turns.find(n);
  return t != s.upgrade.turns.end() && in_turn(s, n) && t->second.stage != TurnStage::draining ? &t->second : nullptr;
}
inline bool installing(const State& s, NodeId n) {
  const Turn* t = installed_lately(s, n);
  return t != nullptr && t->stage == TurnStage::installing;
}

// True while Muster itself is repairing the node: a vanished GPU is expected then. A node under test must be whole.
inline bool under_repair(const State& s, NodeId n) {
  const Incident* i = find_incident(s, s.nodes[n.v].incident);
  return (i != nullptr && i->stage == Stage::repairing) || installing(s, n);
}

// True while Muster itself is taking the whole node down: silence and a new boot are expected then, but not when a GPU is reset.
inline bool taken_down(const State& s, NodeId n) {
  if (installing(s, n)) return true;
  if (!under_repair(s, n)) return false;
  const Incident* i = find_incident(s, s.nodes[n.v].incident);
  const auto order = s.orders.find(i->pending);
  return order == s.orders.end() || order->second.order.action.verb != Verb::reset_gpu;
}

}  // namespace muster::detect
