// One run of a job as an accounting database tells of it: who had how many GPUs of what kind, where, from when to when. A job
// that was requeued is several of these.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace muster {

enum class RecordState : std::uint8_t {
  unknown,  // a word that is not known here
  pending,
  running,
  suspended,
  completed,
  failed,
  timeout,
  deadline,
  cancelled,
  node_fail,
  boot_fail,
  out_of_memory,
  preempted,
  requeued,  // this run ended so that another could begin
  revoked,   // a federation gave the job to another cluster: the run is in that one's records
};
constexpr std::array<std::string_view, 15> names(RecordState) {
  return {"unknown",   "pending",   "running",   "suspended",     "completed", "failed",   "timeout", "deadline",
          "cancelled", "node_fail", "boot_fail", "out_of_memory", "preempted", "requeued", "revoked"};
}
// There is no more to come of this run.
constexpr bool is_over(RecordState s) {
  return s != RecordState::unknown && s != RecordState::pending && s != RecordState::running && s != RecordState::suspended;
}
// It ended by what happened to it rather than by its own end or its user's wish.
constexpr bool was_lost(RecordState s) {
  return s == RecordState::node_fail || s == RecordState::boot_fail || s == RecordState::preempted || s == RecordState::requeued;
}

// GPUs are counted in thousandths, so that shards and MIG slices are counted too: 8 GPUs are 8000.
constexpr std::int64_t kGpuThousandths = 1000;

// "1234", "1234_7" (member 7 of an array), "1234+1" (component 1 of a heterogeneous job), "1234_[1-9]" (members that have not
// begun yet).
struct RecordId {
  std::string text;                 // as written, without a step
  std::uint64_t number = 0;         // of the job, or of the array it is a member of
  std::int64_t array_index = -1;    // -1: no member of an array
  std::int32_t het_component = -1;  // -1: no part of a heterogeneous job
  std::uint32_t array_members = 1;  // of a row that stands for several members that have not begun
  std::uint32_t restarts = 0;       // runs of the same job that came before this one
  bool operator==(const RecordId&) const = default;
};

// Texts are untrusted. Times are utc; 0: not said.
struct JobRecord {
  std::string cluster;
  RecordId id;
  std::string name;
  std::string user;
  std::string account;
  std::string partition;
  std::string qos;
  std::string gpu_type;                    // "h200", of gres/gpu:h200=8; empty: not said
  std::optional<std::int64_t> gpus_milli;  // thousandths of GPUs; none: not said, which is not the same as 0
  bool gpus_requested = false;             // they are what was asked for, since nothing was ever given
  std::uint32_t nodes = 0;                 // how many; 0: not said
  std::string node_list;                   // "gpu[001-004]"; empty: none
  RecordState state = RecordState::unknown;
  Time submitted;
  Time eligible;
  Time started;
  Time ended;
  Duration suspended;                    // for so long it held its GPUs and did not run
  Duration ran;                          // as the record says; 0: not said
  std::optional<std::int64_t> energy_j;  // measured; none: nothing was
  std::string file;                      // where this was read
  std::uint64_t line = 0;                // 1-based
};

}  // namespace muster
