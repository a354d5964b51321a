// Host: a loop with its faces, from opened journal to clean shutdown. `demo` and `up` differ only in what they put behind the
// ports.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "adapters/mailbox/mailbox.h"
#include "adapters/sqlite/journal.h"
#include "adapters/state/state_dir.h"
#include "control/loop.h"
#include "ports/meter.h"
#include "ports/tool.h"
#include "ports/view.h"
#include "twin/twin.h"

namespace muster::cmd {

struct Edges {
  Clock& clock;
  Observatory& observatory;
  Actuator& actuator;
  Mailbox& mailbox;
};

struct HostOptions {
  std::string name;        // "demo": for messages
  std::string simulation;  // what a simulation says of itself; empty: a real cluster
  std::uint16_t port = 7070;
  Time stop_at = kNever;  // utc of the cluster
  Site site;
  Policy policy;
  std::string journal;  // its file: questions about the past are read from there
  std::optional<twin::Config> world;  // what a simulation in this process is made of, for what-ifs; none: it is assumed
  Tools tools;  // beside those every host has
  std::function<Result<std::string>()>
      trouble;    // asked each turn: what is wrong with the edges, in words; an error ends the host
  Meters meters;  // of the edges, for /metrics; may be empty
  // For edges that send things out; each may be empty. All from the loop's thread; `metrics` may be called from any.
  std::function<void(const std::string& base, std::function<std::string()> metrics)> on_served;
  std::function<void(const std::shared_ptr<const Snapshot>& snapshot)> on_snapshot;
  std::function<void()> on_end;  // nothing that `on_served` gave may be used afterwards
};

// Returns the process's exit code.
int host(const HostOptions& options, const Edges& edges, StateDir& dir, sqlite::StoredJournal& journal);

}  // namespace muster::cmd
