// What tools read from the ports of a fabric and from its subnet manager: states, counters, the manager's log. Names are
// untrusted.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace muster {

// "leaf03[17]", as faults name it; the whole device where there is no port.
struct PortEnd {
  std::uint64_t guid = 0;  // of a switch, or of an adapter's port; 0: not told
  std::string node;
  int port = -1;

  std::string say() const { return port < 0 ? node : node + "[" + std::to_string(port) + "]"; }
};

// A port and what its cable is doing, as iblinkinfo prints it.
struct PortState {
  PortEnd here;
  bool is_switch = false;
  std::optional<PortEnd> far;  // none: nothing is known to be there
  bool far_is_switch = false;
  int lanes = 0;           // 0: not told, the port is down
  double lane_gbit_s = 0;  // signalling rate of a lane: 53.125 of HDR
  std::string logical;     // "Active", "Init", "Armed", "Down"
  std::string physical;    // "LinkUp", "Polling", "Disabled"
  int lanes_could = 0;     // what both ends are able to do; 0: no more than they do
  double lane_gbit_s_could = 0;
};

struct PortCounters {
  PortEnd port;
  std::vector<std::pair<std::string, std::uint64_t>> values;  // "SymbolErrorCounter", 65535
};

// The counters of many ports at about one time.
struct CounterReading {
  std::vector<PortCounters> ports;
  bool complete = false;  // the tool got to its end; unless it lists all, a port that it does not has nothing above the floors
  std::map<std::string, std::uint64_t> floors;  // by counter: what the tool was told not to mention
  bool lists_all = false;  // ports without errors too: one that is not listed was not reached, and nothing is known of it
};

// How a counter grew between two readings.
struct CounterGrowth {
  PortEnd port;
  std::string counter;
  std::uint64_t before = 0, after = 0;
  std::uint64_t grew = 0;  // at least
  double per_s = 0;
  bool pegged = false;     // it stands at its maximum: it may have grown more
  bool was_reset = false;  // it is below what it was: somebody cleared it, or the device restarted
};

// Every counter that grew, in the order of the later reading. Counters that a reading does not mention count as zero where it is
// complete, as their floor where it has one, and are left out where it is not, or lists all ports and not this one.
std::vector<CounterGrowth> counter_growth(const CounterReading& before, const CounterReading& after, double seconds);
// The value at which a counter of this name stops; 0: it has 32 bits or more, and is not expected to.
std::uint64_t counter_maximum(const std::string& counter);

// A job and its nodes, in the order of the ranks.
struct JobOnNodes {
  std::string name;
  std::vector<std::string> nodes;
};

// What the subnet manager wrote: OpenSM's log.
struct SubnetLog {
  struct Evidence {
    int line = 0;
    std::string time;  // as written, "Nov 15 00:22:54"
    std::string text;
  };
  // From one routing to the next.
  struct Routing {
    std::string engine;               // whose tables were configured, or words for one that is not named; empty: none could
    std::vector<std::string> failed;  // engines that were tried before
    std::vector<Evidence> because;    // what was said on the way
    std::vector<std::uint64_t> odd;   // switches that differ from the others, by what ftree says
    Evidence at;
    bool up = false;  // "SUBNET UP" followed
  };
  struct PortEvent {
    std::uint64_t guid = 0;
    std::string node;
    bool removed = false;  // otherwise: discovered
    Evidence at;
  };
  struct Duplicate {
    std::uint64_t guid = 0;
    int port = -1;
    std::uint64_t seen_from[2] = {0, 0};  // the neighbours, with their ports; 0: not told
    int seen_from_port[2] = {-1, -1};
    Evidence at;
  };
  struct ErrorCount {
    std::uint32_t count = 0;
    Evidence first;
  };

  std::string version;
  std::vector<std::string> engines_asked;  // in their order; empty: the log does not say
  bool fallback_forbidden = false;         // "no_fallback" is the last engine asked for
  std::vector<Routing> routings;           // the last ones, when there are many
  std::vector<PortEvent> ports;            // likewise
  std::vector<Duplicate> duplicates;
  std::map<std::string, ErrorCount> errors;  // by code: "AB0D"
  std::uint32_t lines = 0, not_understood = 0, left_out = 0;
};

}  // namespace muster
