#include "model/fabric_readings.h"

#include <algorithm>
#include <tuple>

namespace muster {
namespace {

using Values = std::vector<std::pair<std::string, std::uint64_t>>;

const std::uint64_t* find(const Values& values, const std::string& counter) {
  const auto it = std::find_if(values.begin(), values.end(), [&](const auto& v) { return v.first == counter; });
  return it == values.end() ? nullptr : &it->second;
}

// What `before` says of a counter, or what follows from its silence; none: nothing does.
std::optional<std::uint64_t> value_before(const CounterReading& before, const PortCounters* port, const std::string& counter) {
  if (port != nullptr) {
    if (const std::uint64_t* v = find(port->values, counter)) return *v;
  }
  const auto floor = before.floors.find(counter);
  if (floor != before.floors.end()) return floor->second;
  if (port != nullptr || (before.complete && !before.lists_all)) return 0;
  return {};
}

}  // namespace

// IBTA, PortCounters: widths of 16, 8 and 4 bits; they stay at their maximum. The extended ones have 64.
std::uint64_t counter_maximum(const std::string& counter) {
  static constexpr std::pair<const char*, std::uint64_t> kMaxima[] = {{"SymbolErrorCounter", 65535},
                                                                      {"LinkErrorRecoveryCounter", 255},
                                                                      {"LinkDownedCounter", 255},
                                                                      {"PortRcvErrors", 65535},
                                                                      {"PortRcvRemotePhysicalErrors", 65535},
                                                                      {"PortRcvSwitchRelayErrors", 65535},
                                                                      {"PortXmitDiscards", 65535},
                                                                      {"PortXmitConstraintErrors", 255},
                                                                      {"PortRcvConstraintErrors", 255},
                                                                      {"LocalLinkIntegrityErrors", 15},
                                                                      {"ExcessiveBufferOverrunErrors", 15},
                                                                      {"QP1Dropped", 65535},
                                                                      {"VL15Dropped", 65535}};
  for (const auto& [name, maximum] : kMaxima) {
    if (counter == name) return maximum;
  }
  return 0;
}

std::vector<CounterGrowth> counter_growth(const CounterReading& before, const CounterReading& after, double seconds) {
  // Ports without a GUID have a name that holds their lid.
  const auto key = [](const PortEnd& p) { return std::tuple(p.guid, p.guid == 0 ? p.node : std::string(), p.port); };
  std::map<std::tuple<std::uint64_t, std::string, int>, const PortCounters*> known;
  for (const PortCounters& p : before.ports) known[key(p.port)] = &p;
  std::vector<CounterGrowth> out;
  for (const PortCounters& p : after.ports) {
    if (p.port.port < 0) continue;  // the sum over a node's ports
    const auto was = known.find(key(p.port));
    for (const auto& [counter, value] : p.values) {
      const auto old = value_before(before, was == known.end() ? nullptr : was->second, counter);
      if (!old) continue;
      CounterGrowth g{p.port, counter, *old, value, 0, 0, false, false};
      g.was_reset = value < *old;
      g.grew = g.was_reset ? value : value - *old;
      const std::uint64_t maximum = counter_maximum(counter);
      // One that stood there before may not move, whatever happens.
      g.pegged = maximum > 0 && value == maximum;
      if (g.grew == 0 && !g.pegged) continue;
      g.per_s = seconds > 0 ? static_cast<double>(g.grew) / seconds : 0;
      out.push_back(std::move(g));
    }
  }
  return out;
}

}  // namespace muster
