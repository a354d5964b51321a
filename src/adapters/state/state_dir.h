// The state directory: where a controller keeps its journal, socket and token. docs/formats/journal.md, section 8.
#pragma once
#include <string>

#include "adapters/state/lock.h"
#include "base/result.h"

namespace muster {

// Held by one controller at a time.
struct StateDir {
  std::string path;
  FileLock lock;
  std::string journal() const { return path + "/journal.db"; }
  std::string socket() const { return path + "/muster.sock"; }
  std::string token() const { return path + "/token"; }
  std::string agent_token() const { return path + "/agent-token"; }  // may hand in what a node says, and nothing else
};

// $MUSTER_STATE, else $XDG_STATE_HOME/muster, else ~/.local/state/muster; `chosen` where it is not empty.
std::string state_path(const std::string& chosen);
// Makes it, mode 0700, with its parents, and takes its lock. Refuses one that others own or may write to.
Result<StateDir> open_state_dir(const std::string& path);

}  // namespace muster
