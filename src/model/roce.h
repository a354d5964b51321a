// How a lossless Ethernet is set up, as cards and switches tell it, and what their counters say came of it.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace muster {

// Of one card or one switch, as far as its own words go.
struct RoceSettings {
  std::string file, what;  // what: "mlnx_qos", "SONiC", "show roce"
  std::uint32_t line = 0;
  bool is_switch = false;
  std::string trust;                               // "dscp", "pcp"; empty: not told
  std::optional<std::vector<int>> pfc;             // priorities that are paused one by one
  std::optional<std::vector<int>> ecn;             // priorities whose packets are marked
  std::optional<std::array<int, 64>> priority_of;  // of a DSCP; -1: none
  std::optional<double> kmin_kb, kmax_kb, pmax;    // pmax: a share
  std::optional<double> xoff_kb;                   // of a port's queue, from where it pauses
  std::optional<double> headroom_kb;               // kept for what still arrives then
  std::optional<double> cable_m, line_gb_s, mtu_b;
};

// One reading of `ethtool -S`, `rdma statistic` or the files under hw_counters.
struct RoceCounters {
  std::string file, card;                      // card: empty: not told
  std::map<std::string, std::uint64_t> value;  // "rx_prio3_pause", "np_cnp_sent"
};

}  // namespace muster
