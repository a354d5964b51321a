// What NCCL says of itself in its log: who takes part, over which paths, by which settings, and what went wrong. Texts are
// untrusted, and printable already.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/nccl_way.h"

namespace muster {

struct NcclPlace {
  std::uint32_t file = 0;  // NcclLog::files
  std::uint32_t line = 0;  // from 1; 0: not told
};

// Seconds of a communicator's beginning, as NCCL parts it.
struct NcclInitTimes {
  double total_s = -1;                                  // -1: not told
  std::vector<std::pair<std::string, double>> parts_s;  // "bootstrap", 12.3
};

// One rank's part in one communicator.
struct NcclComm {
  std::uint64_t id = 0;  // the same on all of its ranks; 0: not told (split from another)
  std::uint32_t rank = 0, ranks = 0;
  std::uint32_t nodes = 0, local_ranks = 0;  // 0: not told
  std::string host, bus;
  int gpu = -1;  // CUDA device
  bool complete = false;
  NcclInitTimes init;
  int channels = -1, nvls_channels = -1, p2p_channels = -1;  // -1: not told
  int rings = -1, trees = -1;
  int pxn = -1, gdr = -1;  // "use ring PXN 0 GDR 1"
  NcclPlace at;
};

enum class NcclTransport : std::uint8_t { p2p, shm, net, collnet };
constexpr std::array<std::string_view, 4> names(NcclTransport) { return {"P2P", "SHM", "NET", "COLLNET"}; }

// Connections of one node that go the same way, counted.
struct NcclPath {
  NcclTransport transport = NcclTransport::p2p;
  std::string via;           // "CUMEM", "IPC", "direct"; of a network its name, "IB", "Socket", "AWS Libfabric"
  std::int32_t device = -1;  // of a network, by NCCL's number
  bool gdr = false;          // the card reads and writes the GPU's memory itself
  bool proxied = false;      // through another GPU's card (PXN)
  std::uint64_t channels = 0;
  NcclPlace at;  // the first
};

struct NcclDevice {
  std::int32_t index = -1;
  std::string name;         // "mlx5_0:1"
  std::string link;         // "IB", "RoCE"
  std::optional<bool> gdr;  // what NCCL says of it
};

struct NcclHost {
  std::string name;
  std::vector<std::string> versions, networks;  // each once
  std::vector<NcclDevice> devices;              // "NET/IB : Using"
  std::string oob;                              // interface of the first contact
  std::vector<std::string> interfaces;          // "NET/Socket : Using"
  bool no_rdma_device = false;                  // "NET/IB : No device found."
  std::uint32_t nvls = 0, no_nvls = 0;          // GPUs that said so
  std::uint32_t p2p_refused = 0;                // pairs
  std::vector<NcclPath> paths;
  NcclPlace network_at, devices_at, nvls_at, p2p_at;
};

// NCCL_... that was set, as NCCL echoes it.
struct NcclSetting {
  std::string name, value;
  std::vector<std::uint32_t> hosts;  // NcclLog::hosts, ascending
  NcclPlace at;
};

// What the tuner chose, for sizes from the least to the most seen.
struct NcclChoice {
  std::string op, algorithm, protocol;  // op may be empty: old versions do not say
  double least_bytes = 0, most_bytes = 0;
  int channels = -1;  // the most; -1: not told
  std::uint64_t times = 0;
};

// The same for one size: the way that was last taken.
struct NcclPick {
  std::string op, algorithm, protocol;
  double bytes = 0;
  int channels = -1;
};

struct NcclCalls {
  std::string op;
  double bytes = 0;  // as nccl-tests counts: of the whole buffer
  std::uint32_t ranks = 0;
  std::uint64_t times = 0;  // of all ranks together
};

enum class NcclTroubleKind : std::uint8_t {
  completion,    // a transfer failed
  port_down,     // under the job
  port_up,       // and back
  device_event,  // any other of a card
  peer_closed,   // the other end went away: somebody else died first
  mismatch,      // ranks do not do the same
  cuda,          // an error of CUDA
  warning,       // any other
  error,         // an exception in a collective, as PyTorch words it
  timeout,       // a collective did not end in time
  standing,      // where a rank stood then
  watchdog,      // PyTorch's watchdog itself hangs
  wrong_result,  // no number, or not the same twice
};
constexpr std::array<std::string_view, 13> names(NcclTroubleKind) {
  return {"completion", "port_down", "port_up", "device_event", "peer_closed", "mismatch",    "cuda",
          "warning",    "error",     "timeout", "standing",     "watchdog",    "wrong_result"};
}

struct NcclTrouble {
  NcclTroubleKind kind = NcclTroubleKind::warning;
  std::string host, device, peer, group, op, text;
  int rank = -1, gpu = -1, status = -1;
  std::int64_t seq = -1, timeout_ms = -1, ran_ms = -1, last_enqueued = -1, last_completed = -1;
  std::uint64_t times = 1;
  NcclPlace at;  // the first
};

struct NcclLog {
  std::vector<std::string> files;
  std::vector<NcclHost> hosts;                    // by name
  std::vector<NcclComm> comms;                    // by id, then rank
  std::map<std::string, std::uint64_t> versions;  // of NCCL: how many lines say so
  std::vector<NcclSetting> settings;              // by name, then value
  std::vector<NcclChoice> choices;
  std::vector<NcclPick> picks;      // by operation and size
  std::vector<NcclBelief> beliefs;  // by operation, algorithm, protocol; of the first communicator that told
  std::vector<NcclCalls> calls;
  std::vector<NcclTrouble> troubles;  // in the order of the log
  std::uint64_t lines = 0, nccl_lines = 0;
  std::uint64_t left_out = 0;  // beyond what is kept
};

}  // namespace muster
