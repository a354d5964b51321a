// What a watch of a network hands in (docs/health/agent.md): all faults that stand in it, each time. An event only where they
// are others than those of that network that were taken last.
#pragma once
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "base/value.h"
#include "model/event.h"
#include "model/state.h"

namespace muster {

constexpr std::size_t kFabricFaultsMax = 1000, kFabricEndsMax = 8, kFabricNamesMax = 64;

using NodeNames = std::map<std::string, NodeId, std::less<>>;

// Refused where a field is not what it should be; names of nodes that the cluster does not have are counted and left out.
Result<FabricSaid> read_fabric(const Value& fabric, const NodeNames& nodes);

// How often the watch reads the network; 0 where it does not say, as one that reads it once.
Result<Duration> read_fabric_interval(const Value& fabric);

// Which faults were taken last, by network. From any thread.
class FabricKnown {
 public:
  // From the findings that were open when the controller started.
  void remember(const State& s);
  // Whether it is to be an event, after which one of the two below follows. Refused where it is of one network too many.
  Result<bool> news(const FabricSaid& said);
  void taken(const FabricSaid& said);  // it is durable
  void lost(const FabricSaid& said);   // it will be told again

 private:
  struct Last {
    std::set<std::string> faults;  // by name_of_fault()
    bool complete = true, rates = true, flaps = true;
    bool operator==(const Last&) const = default;
  };
  static Last last_of(const FabricSaid& said);

  std::mutex lock_;
  std::map<std::string, Last, std::less<>> networks_;  // those of which something stands or is under way
};

}  // namespace muster
