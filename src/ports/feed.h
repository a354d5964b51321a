#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace muster {

// The newest events as they are stored, for live pages. Bounded: who asks for older ones is told where it now begins.
struct Feed {
  virtual ~Feed() = default;
  virtual std::uint64_t oldest() const = 0;  // seq of the oldest event still held
  // Up to `max` events from `from_seq` on: (seq, type, canonical JSON). From any thread.
  virtual void read(std::uint64_t from_seq, std::size_t max,
                    const std::function<void(std::uint64_t, std::string_view, std::string_view)>& visit) const = 0;
  // Called after new events and a new snapshot are there, from the loop's thread: return quickly.
  virtual void on_change(std::function<void()> hook) = 0;
};

}  // namespace muster
