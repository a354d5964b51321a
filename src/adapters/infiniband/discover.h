// Walks the InfiniBand fabric that this machine is plugged into.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "model/fabric.h"
#include "model/fabric_readings.h"

namespace muster::infiniband {

struct DiscoverAsk {
  std::string device;  // "mlx5_0"; empty: the first that is up
  int port = 0;        // of it; 0: the first that is up
  bool counters = false, tables = false;
  unsigned timeout_ms = 200, retries = 3;  // of a management packet
  std::string discovery_library = "libibnetdisc.so.5", packet_library = "libibmad.so.5";
};

struct Discovered {
  std::string net;  // what `ibnetdiscover` would print, but the time
  std::vector<PortState> ports;
  CounterReading counters;  // complete: every port answered
  ForwardingTables tables;
  std::uint32_t unanswered = 0;  // questions about counters and tables; after many no more are asked
};

// Blocks until all have answered or were asked often enough. The libraries are for one thread at a time.
Result<Discovered> discover(const DiscoverAsk& ask);

}  // namespace muster::infiniband
