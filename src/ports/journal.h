#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "base/hash.h"
#include "base/result.h"
#include "model/event.h"

namespace muster {

struct StoredSnapshot {
  std::uint64_t seq = 0;
  std::uint32_t fold_version = 0;
  std::string bytes;  // what was given to save_snapshot
};

// The hash-chained log of events. One writer.
struct Journal {
  virtual ~Journal() = default;
  // Stores all or none, durably, before it returns. seq must be dense. On error nothing may be acted on and the controller stops.
  virtual Result<void> append(std::span<const Event> events) = 0;
  virtual std::uint64_t last_seq() const = 0;
  // Hash of the last event: the digest of everything so far.
  virtual Digest head() const = 0;
  // Events from `seq` on, in order, until the visitor returns false.
  virtual Result<void> read(std::uint64_t from_seq, const std::function<bool(const Event&)>& visit) = 0;
  virtual Result<void> save_snapshot(const StoredSnapshot& snapshot) = 0;
  virtual Result<std::optional<StoredSnapshot>> latest_snapshot() = 0;
};

}  // namespace muster
