// What holds a GPU's memory, why a request for more failed, and which setting of the allocator or which batch would fit: from a
// snapshot of PyTorch's caching allocator.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/finding.h"
#include "diagnose/memory_replay.h"
#include "model/memory_snapshot.h"

namespace muster::diagnose {

// Guessed, by how long it lives and by who asked for it.
enum class MemoryClass : std::uint8_t { parameters, gradients, optimizer, activations, workspace, kept };
constexpr std::array<std::string_view, 6> names(MemoryClass) {
  return {"parameters", "gradients", "optimizer", "activations", "workspace", "kept"};
}

struct MemoryHolder {
  std::string where;  // the innermost call outside of libraries: "train_step at train.py:88"; "not told"
  MemoryClass kind = MemoryClass::parameters;
  std::uint64_t bytes = 0, blocks = 0;
};

// At one moment. Bytes.
struct MemoryState {
  std::uint64_t reserved = 0, allocated = 0, requested = 0;
  std::uint64_t inactive = 0;      // reserved, and free
  std::uint64_t pinned = 0;        // of that, in segments which cannot go back to the device, since something is in use in them
  std::uint64_t largest_free = 0;  // block
};

enum class OomCause : std::uint8_t {
  too_large,      // it would not fit if all that is free were in one piece
  fragmented,     // there is enough that is free, in pieces too small
  other_streams,  // there is enough, cached for other streams
  private_pools,  // there is enough, in pools of CUDA graphs
  split_limit,    // a free block is large enough, but max_split_size forbids to use it
  elsewhere,      // it would fit if others did not hold so much of the device; told only where the device's size is known
};
constexpr std::array<std::string_view, 6> names(OomCause) {
  return {"too_large", "fragmented", "other_streams", "private_pools", "split_limit", "elsewhere"};
}

struct Oom {
  std::size_t event = 0;
  std::int64_t time_us = 0;
  std::uint64_t asked = 0, segment = 0;  // rounded; what the device was asked for
  std::uint64_t stream = 0;
  std::uint64_t device_free = 0;
  std::uint64_t limit = 0;   // what this process could have in all
  bool by_fraction = false;  // the device had enough: a limit set by the program, of which only this much is known
  MemoryState state;
  std::uint64_t free_own = 0, free_other_streams = 0, free_private = 0;  // of the inactive: whom it may be given to
  std::uint64_t largest_own = 0;
  std::uint64_t elsewhere = 0;  // of the device, held by others: other processes, the driver; 0: not known
  OomCause cause = OomCause::too_large;
  std::string where;
};

struct MemoryPeak {
  std::uint64_t bytes = 0;
  std::size_t event = 0;
  std::int64_t time_us = 0;
};

struct MemoryGrowth {
  std::uint64_t bytes_per_step = 0, steps = 0;
  std::string where;  // whose allocations stay
  double share = 0;   // of the growth that these are
};

struct MemoryChurn {
  double allocs_per_step = 0, frees_per_step = 0;  // of segments, which the driver is asked for and given back
};

struct BatchAdvice {
  double factor = 0;                  // of today's batch
  std::optional<std::uint64_t> fits;  // where today's batch is known
  std::uint64_t constant = 0, scaling = 0, limit = 0, margin = 0;
  bool at_most = false;  // the step never came to its end: more may be asked for after the request that failed
  bool no_room = false;  // what does not grow with the batch leaves none for a batch at all
};

struct SettingAdvice {
  std::string setting;      // "expandable_segments:True"
  std::string environment;  // "PYTORCH_CUDA_ALLOC_CONF=..." with what is set today
  std::uint64_t reserved_peak = 0;
  bool tight = false;  // nearly all that can be had: what the step asks for next may fail
  Confidence confidence = Confidence::low;
};

struct DeviceMemory {
  std::uint32_t device = 0;
  std::size_t events = 0;
  MemoryState now;  // when the snapshot was taken
  MemoryPeak allocated_peak, reserved_peak;
  std::size_t steps = 0;  // 0: none could be told apart
  std::size_t ooms = 0;
  std::optional<Oom> oom;                  // the last
  std::vector<MemoryHolder> at_peak;       // or, if a request failed, then; else now. The largest first
  std::array<std::uint64_t, 6> classes{};  // of all these, by MemoryClass
  std::optional<MemoryGrowth> growth;
  std::optional<MemoryChurn> churn;
  std::optional<BatchAdvice> batch;
  // The replay with today's settings: its peak of reserved memory against the recorded one, and whether it fails where it failed.
  std::optional<double> replay_off;
  bool replay_fails_alike = false;
  std::vector<SettingTrial> trials;
  std::optional<SettingAdvice> advice;
};

struct MemoryDiagnosis {
  AllocatorSettings settings;
  std::vector<DeviceMemory> devices;  // that hold or held something
  std::vector<Finding> findings;      // the gravest first
};

struct MemoryQuestion {
  std::optional<std::uint64_t> batch;         // today's, for a number instead of a factor
  std::optional<std::uint64_t> device_bytes;  // of the whole GPU
  std::string file;                           // for evidence
};
MemoryDiagnosis diagnose_memory(const MemorySnapshot& snapshot, const MemoryQuestion& question);

// "1.25 GiB", "24.0 MiB", "512 B".
std::string say_bytes(std::uint64_t bytes);
// How the factor was computed, with the reserve that was kept: "(79.00 GiB - 5 % in reserve - 40.00 GiB that stay) / ...".
std::string say_batch(const BatchAdvice& batch);

}  // namespace muster::diagnose
