// What PyTorch's caching allocator tells of a GPU's memory: the segments it took from the driver, the blocks in them, and what
// was asked for and given back, in order. Texts are untrusted and printable.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

struct CallFrame {
  std::string file, name;
  std::uint32_t line = 0;
};

enum class BlockState : std::uint8_t { allocated, awaiting_free, inactive };

struct MemoryBlock {
  std::uint64_t address = 0, size = 0, requested = 0;
  BlockState state = BlockState::inactive;
  std::uint32_t stack = 0;  // MemorySnapshot::stack; 0: not told
};

struct MemorySegment {
  std::uint32_t device = 0;
  std::uint64_t address = 0, size = 0, stream = 0;
  std::uint64_t pool = 0;  // 0: the common one; else a private pool, as CUDA graphs have
  bool large = false, expandable = false;
  std::vector<MemoryBlock> blocks;  // in the order of their addresses
};

enum class MemoryAction : std::uint8_t {
  alloc,
  free_requested,
  free_completed,
  segment_alloc,
  segment_free,
  segment_map,
  segment_unmap,
  snapshot,
  oom,
  other,
};
constexpr std::array<std::string_view, 10> names(MemoryAction) {
  return {"alloc",       "free_requested", "free_completed", "segment_alloc", "segment_free",
          "segment_map", "segment_unmap",  "snapshot",       "oom",           "other"};
}

struct MemoryEvent {
  std::uint64_t address = 0;  // of "oom": what the device had free
  std::uint64_t size = 0;     // as requested; of "oom" and segments: rounded
  std::uint64_t stream = 0;
  std::int64_t time_us = 0;  // 0: not told
  std::uint32_t stack = 0;
  MemoryAction action = MemoryAction::other;
};

struct AllocatorSettings {
  std::string text;                        // of PYTORCH_CUDA_ALLOC_CONF
  std::optional<std::uint64_t> max_split;  // bytes; none: no limit
  double collection_threshold = 0;         // 0: off
  bool expandable = false;
  std::array<std::uint32_t, 16> divisions{};  // of a power of two, for requests from 1 MiB, 2 MiB ...; 0: off
};

// No GPU has more, and sums of it cannot wrap.
constexpr std::uint64_t kMemoryBytesMax = std::uint64_t{1} << 42;

struct MemorySnapshot {
  std::vector<CallFrame> frames;             // each once
  std::vector<std::uint32_t> stack_frames;   // frames of all stacks, the innermost first
  std::vector<std::uint32_t> stack_ends{0};  // of each stack in them; number 0 is empty
  std::vector<MemorySegment> segments;
  std::vector<std::vector<MemoryEvent>> traces;  // one a device, in order; empty: nothing was recorded
  AllocatorSettings settings;
  bool settings_told = false;

  std::span<const std::uint32_t> stack(std::uint32_t id) const {
    if (id == 0 || id >= stack_ends.size()) return {};
    return std::span(stack_frames).subspan(stack_ends[id - 1], stack_ends[id] - stack_ends[id - 1]);
  }
};

}  // namespace muster
