// node_exporter's series on what a GPU node can be ill of besides its GPUs: InfiniBand ports, PCIe links, memory, heat, storage,
// the out-of-memory killer. What detectors follow each second comes through prom_text; this is the whole picture, for looking at
// a node.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/pci.h"

namespace muster {

constexpr std::size_t kNodeLineMax = 4096;   // bytes; a longer line is not understood
constexpr std::size_t kNodeItemsMax = 1024;  // of each list; the rest is counted
constexpr std::size_t kNodeTextMax = 128;    // bytes of text kept

// An absent value: this kernel, card or exporter does not have it. Counters are since the card was reset.
struct IbPortMetrics {
  std::string device;                    // "mlx5_0"
  std::string port;                      // "1"
  std::optional<double> state;           // 4: active
  std::optional<double> physical_state;  // 5: link up
  std::optional<double> rate_bytes_s;
  std::optional<double> link_downed, link_recoveries, symbol_errors, integrity_errors, buffer_overruns;
  std::optional<double> receive_errors, remote_physical_errors, switch_relay_errors, discards, transmit_wait;
  std::optional<double> received_bytes, transmitted_bytes;
  std::optional<double> ack_timeouts, sequence_errors, out_of_sequence, implied_nak, rnr_retries;
  std::optional<double> roce_slow_restarts, cnp_sent, cnp_handled, ecn_marked, icrc_errors;
};

struct IbCard {  // of node_infiniband_info: firmware that differs from its neighbours' is seen here
  std::string device, board, firmware, type;
};

struct PcieLink {
  PciAddress address;
  unsigned function = 0;
  std::optional<double> width, width_max, transfers_s, transfers_max_s;
};

struct MemoryController {
  std::string name;
  std::optional<double> corrected, uncorrected;
};

struct HeatSensor {
  std::string chip, sensor;
  double temp_c = 0;
};

struct NetworkLink {
  std::string device;
  std::optional<double> carrier_changes, up;
};

struct NodeMetrics {
  std::vector<IbPortMetrics> ib_ports;
  std::vector<IbCard> ib_cards;
  std::vector<PcieLink> pcie;
  std::vector<MemoryController> memory;
  std::vector<HeatSensor> heat;
  std::vector<NetworkLink> network;
  std::optional<double> oom_kills, nfs_retransmissions, boot_time_s;
  std::string kernel;                // release, of node_uname_info
  std::uint64_t samples = 0;         // lines with a value, of any series
  std::uint32_t not_understood = 0;  // lines that are none, or whose labels are not those of their series
  std::uint32_t left_out = 0;
};

NodeMetrics parse_node_exporter(std::string_view text);

}  // namespace muster
