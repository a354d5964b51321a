// The requests that a snapshot recorded, put once more to the allocator as it is set and as it could be set.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "diagnose/caching_allocator.h"
#include "model/memory_snapshot.h"

namespace muster::diagnose {

// One device's events, and what was there before the first of them: recording begins late, and its buffer forgets.
struct MemoryHistory {
  struct Live {
    std::uint64_t address = 0, size = 0, requested = 0, stream = 0, pool = 0;
    std::uint32_t stack = 0;
  };
  struct Segment {
    std::uint64_t address = 0, size = 0, stream = 0, pool = 0;
    bool small = false, expandable = false;
  };
  std::uint32_t device = 0;
  std::span<const MemoryEvent> events;
  std::vector<Live> before;              // by address
  std::vector<Segment> segments_before;  // by address, without expandable ones
  std::vector<Segment> own_pools;        // at the end: segments of private pools, by address
  std::uint64_t reserved_before = 0;
  AllocatorSettings settings;

  std::uint64_t pool_of(std::uint64_t address) const;
};
MemoryHistory history_of(const MemorySnapshot& snapshot, std::uint32_t device);

struct MemoryReplay {
  std::uint64_t reserved_peak = 0;  // up to the last request that failed, or the end
  std::uint64_t device_allocs = 0, device_frees = 0;
  std::size_t asked_in_vain = 0;         // recorded as out of memory
  std::size_t served = 0;                // of these, in the replay
  std::optional<std::size_t> failed_at;  // the first event that was served then and is not here
  bool whole = true;                     // false: given up, as it would take too long

  bool fits() const { return whole && !failed_at && served == asked_in_vain; }
};

// `forced`: what was served then is served, whatever the limit says; the replay of what was, to compare with what was recorded.
MemoryReplay replay_memory(const MemoryHistory& history, const AllocatorSettings& settings, CachingAllocator::Limit limit,
                           bool forced);

struct SettingTrial {
  std::string setting;  // "expandable_segments:True"
  MemoryReplay replay;
};
// Every setting that may help, the one to be preferred first.
std::vector<SettingTrial> try_settings(const MemoryHistory& history, CachingAllocator::Limit limit);

// "max_split_size_mb:128" put into "expandable_segments:False,max_split_size_mb:64", in whose place it comes.
std::string with_setting(const std::string& current, const std::string& setting);

}  // namespace muster::diagnose
