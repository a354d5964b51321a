// A SQLite VFS over a Disk, which counts I/O operations, tells a listener before each, and fails one of them on demand.
#pragma once
#include <cstdint>
#include <functional>

#include "disk.h"

namespace muster::powercut {

enum class Fault {
  none,
  write_error,        // EIO, nothing written
  short_write,        // EIO, a part written
  disk_full,          // from then on
  sync_error,         // EIO, the pages stay to be written
  sync_error_dropped, // EIO, the pages are thrown away
};

// What the VFS works on. One at a time per process; outlives every connection opened on it.
struct Session {
  explicit Session(Disk d) : disk(std::move(d)) {}
  Disk disk;
  bool claim_powersafe = false;  // claim it whatever the connection asked for: proves that asking for psow=0 matters
  std::uint64_t operations = 0;  // so far: writes, truncations, syncs, creations, removals, renames
  std::function<void()> before;  // called before each operation
  Fault fault = Fault::none;
  std::uint64_t fault_at = UINT64_MAX;  // the first operation from this one on to which the fault applies
  bool faulted = false;                 // it happened ...
  std::uint64_t faulted_at = 0;         // ... first to this one
};

constexpr const char* kVfs = "powercut";
// Registers the VFS on the first call.
void use(Session& session);
// Syncs a file, and forgets what is cached of it and was never written.
bool distrust(const std::string& name);
// Renames durably: how a finished journal gets its name on this disk.
bool publish(const std::string& from, const std::string& to);

}  // namespace muster::powercut
