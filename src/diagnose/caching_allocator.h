// How PyTorch's caching allocator hands out a GPU's memory, as far as it decides what is reserved and what fits: requests are
// rounded and served from cached blocks, the smallest that fits; blocks are split and joined again; segments come from the
// driver, and those that are wholly free go back to it when it has no more. With expandable segments, pages are mapped instead.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "model/memory_snapshot.h"

namespace muster::diagnose {

// What a request takes of a block, and what a segment for it takes of the device.
std::uint64_t rounded_request(std::uint64_t requested, const AllocatorSettings& settings);
std::uint64_t segment_for(std::uint64_t rounded);
constexpr std::uint64_t kSmallRequestMax = std::uint64_t{1} << 20;

// Whom a cached block may be given to: blocks do not change their stream, nor their pool.
struct PoolKey {
  std::uint64_t stream = 0, pool = 0;
  bool small = false;
  auto operator<=>(const PoolKey&) const = default;
};

class CachingAllocator {
 public:
  struct Limit {
    std::uint64_t bytes = 0;   // of the device that this process may have
    bool by_fraction = false;  // set by the program, and checked against whole segments
  };
  CachingAllocator(const AllocatorSettings& settings, Limit limit) : settings_(settings), limit_(limit) {}

  using Id = std::uint32_t;
  // None: out of memory. `forced`: the driver gives it though the limit says no.
  std::optional<Id> allocate(std::uint64_t requested, std::uint64_t stream, std::uint64_t pool, bool forced = false);
  void free(Id block);

  // What was there before: a segment, and what was in use in it (address and size, ascending, not overlapping). Ids of these.
  struct Placed {
    std::uint64_t address = 0, size = 0;
  };
  std::vector<Id> place(const PoolKey& whose, Placed segment, const std::vector<Placed>& used);

  std::uint64_t reserved() const { return reserved_; }
  std::uint64_t reserved_peak() const { return reserved_peak_; }
  std::uint64_t allocated() const { return allocated_; }
  std::uint64_t device_allocs() const { return device_allocs_; }
  std::uint64_t device_frees() const { return device_frees_; }
  std::uint64_t work() const { return work_; }  // steps taken, for who must bound them

 private:
  struct Block {
    std::uint64_t address = 0, size = 0, freed_at = 0;
    std::uint32_t pool = 0;
    Id before = 0, after = 0;
    bool used = false, mapped = true, expandable = false;
  };
  struct Pool {
    PoolKey key;
    std::set<std::tuple<std::uint64_t, std::uint64_t, Id>> free;  // size, address
    std::set<std::pair<std::uint64_t, Id>> unmapped;              // address
    std::uint64_t searches = 0;
  };

  std::uint32_t pool_of(const PoolKey& key);
  Id add(Block b);
  void insert(Id b);
  void erase(Id b);
  Id split(Id b, std::uint64_t size);
  void join(Id b, Id other);
  void join_both(Id b);
  bool should_split(const Block& b, std::uint64_t size) const;

  std::optional<Id> cached(std::uint32_t pool, std::uint64_t size);
  std::optional<Id> grown(std::uint32_t pool, std::uint64_t size, bool forced);
  std::optional<Id> expanded(std::uint32_t pool, std::uint64_t size, bool forced);
  Id room_to_expand(std::uint32_t pool, std::uint64_t size);
  bool map(Id b, std::uint64_t size, bool forced);
  void unmap(Id b);
  bool release_oversize(std::uint32_t pool, std::uint64_t size);
  void release_cached();
  void release(Id b);
  void collect();
  void reserve(std::uint64_t bytes);

  static constexpr Id kNone = ~Id{0};
  AllocatorSettings settings_;
  Limit limit_;
  std::vector<Block> blocks_;
  std::vector<Id> spare_;
  std::vector<Pool> pools_;
  std::map<PoolKey, std::uint32_t> pool_ids_;
  std::uint64_t next_address_ = std::uint64_t{1} << 60;
  std::uint64_t reserved_ = 0, reserved_peak_ = 0, allocated_ = 0, device_allocs_ = 0, device_frees_ = 0, work_ = 0;
};

}  // namespace muster::diagnose
