// What a training job's own log says of its communication, NCCL's warnings and PyTorch's watchdog, and of results that cannot be
// right, as Megatron checks them. Everything else in the log (losses, progress bars, argument dumps) is passed over. A job writes
// its log itself, so nothing here may lead to an action on its own.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

constexpr std::size_t kTrainLineMax = 8192;    // bytes of a line that are looked at
constexpr std::size_t kTrainTextMax = 240;     // bytes of text kept
constexpr std::size_t kTrainEventsMax = 4096;  // of one log; the rest is counted
constexpr std::size_t kTrainRanksMax = 65536;  // whose standing is kept; the rest is counted

enum class TrainKind : std::uint8_t {
  ib_completion,        // a transfer failed: status 12 is a peer that did not answer, 5 (flushed) follows another failure
  ib_port_error,        // the port went down under the job
  ib_port_active,       // and came back: the two are a flap
  ib_event,             // any other event of the device
  peer_closed,          // the other end of a socket went away: somebody else died first
  collective_mismatch,  // ranks do not do the same: a defect of the program
  cuda_failure,         // NCCL met an error of CUDA
  nccl_warning,         // any other warning of NCCL
  nccl_error,           // an exception in a collective, as PyTorch words it
  watchdog_timeout,     // a collective did not end in time
  watchdog_failure,     // where a rank stood then: last enqueued, last completed
  heartbeat_timeout,    // PyTorch's watchdog itself hangs: a call into the driver or the interpreter's lock
  dump_signal,          // told by another rank to write down what it was doing
  not_a_number,         // a rank's loss or gradient is no number
  not_repeatable,       // a step computed again gave another result, or a replica's weights differ from the others'
};
constexpr std::array<std::string_view, 15> names(TrainKind) {
  return {"ib_completion",       "ib_port_error",     "ib_port_active", "ib_event",     "peer_closed",
          "collective_mismatch", "cuda_failure",      "nccl_warning",   "nccl_error",   "watchdog_timeout",
          "watchdog_failure",    "heartbeat_timeout", "dump_signal",    "not_a_number", "not_repeatable"};
}

struct TrainEvent {
  TrainKind kind = TrainKind::nccl_warning;
  std::uint32_t line = 0;     // from 1; 0 where one line alone was read
  std::uint32_t repeats = 0;  // lines folded into this one
  std::string host;           // of NCCL's prefix; untrusted
  int rank = -1;              // global where the line has "[rankN]", else of the group
  bool whole_job = false;     // the rank is the job's, not the group's
  int gpu = -1;               // CUDA device, of NCCL's or Megatron's prefix
  std::string group;          // process group: "0", "7", "0(default_pg)"
  std::int64_t seq = -1;      // of the collective
  std::string op;             // "ALLREDUCE"
  std::int64_t numel_in = -1, timeout_ms = -1, ran_ms = -1;
  std::int64_t last_enqueued = -1, last_completed = -1;
  int status = -1, vendor_err = -1;  // of a completion
  std::string peer;                  // address of the other end, without its port
  std::string device;                // "mlx5_0:1"
  std::string text;                  // what the line says, cut, printable
};

// One line, without its end. Nothing: it is not about communication.
std::optional<TrainEvent> parse_train_line(std::string_view line);

struct RankStanding {
  int rank = -1;
  std::string group;
  std::int64_t timed_out = -1;  // sequence number, -1: it did not say so
  std::int64_t last_enqueued = -1, last_completed = -1;
};

struct TrainLog {
  std::vector<TrainEvent> events;       // repeats of the same by the same rank are folded
  std::vector<RankStanding> standings;  // by group, then rank
  std::uint64_t lines = 0, folded = 0, left_out = 0;
  std::uint64_t not_understood = 0;  // lines that begin as one of ours and go on as none
};
TrainLog parse_train_log(std::string_view text);

// Ranks of a group that enqueued less than the others of it: who did not come to the collective the others waited in.
std::vector<int> ranks_behind(const TrainLog& log, std::string_view group);

}  // namespace muster
