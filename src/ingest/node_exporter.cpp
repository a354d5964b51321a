#include "ingest/node_exporter.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text.h"

namespace muster {
namespace {

using IbField = std::optional<double> IbPortMetrics::*;
struct IbRow {
  std::string_view name;  // behind "node_infiniband_"
  IbField field;
};
constexpr IbRow kIbRows[] = {
    {"state_id", &IbPortMetrics::state},
    {"physical_state_id", &IbPortMetrics::physical_state},
    {"rate_bytes_per_second", &IbPortMetrics::rate_bytes_s},
    {"link_downed_total", &IbPortMetrics::link_downed},
    {"link_error_recovery_total", &IbPortMetrics::link_recoveries},
    {"symbol_error_total", &IbPortMetrics::symbol_errors},
    {"local_link_integrity_errors_total", &IbPortMetrics::integrity_errors},
    {"excessive_buffer_overrun_errors_total", &IbPortMetrics::buffer_overruns},
    {"port_errors_received_total", &IbPortMetrics::receive_errors},
    {"port_receive_remote_physical_errors_total", &IbPortMetrics::remote_physical_errors},
    {"port_receive_switch_relay_errors_total", &IbPortMetrics::switch_relay_errors},
    {"port_discards_transmitted_total", &IbPortMetrics::discards},
    {"port_transmit_wait_total", &IbPortMetrics::transmit_wait},
    {"port_data_received_bytes_total", &IbPortMetrics::received_bytes},
    {"port_data_transmitted_bytes_total", &IbPortMetrics::transmitted_bytes},
    {"local_ack_timeout_errors_total", &IbPortMetrics::ack_timeouts},
    {"packet_sequence_errors_total", &IbPortMetrics::sequence_errors},
    {"out_of_sequence_packets_received_total", &IbPortMetrics::out_of_sequence},
    {"implied_nak_seq_errors_total", &IbPortMetrics::implied_nak},
    {"rnr_nak_retry_packets_received_total", &IbPortMetrics::rnr_retries},
    {"roce_slow_restart_total", &IbPortMetrics::roce_slow_restarts},
    {"np_cnp_packets_sent_total", &IbPortMetrics::cnp_sent},
    {"rp_cnp_packets_handled_total", &IbPortMetrics::cnp_handled},
    {"np_ecn_marked_roce_packets_received_total", &IbPortMetrics::ecn_marked},
    {"rx_icrc_encapsulated_errors_total", &IbPortMetrics::icrc_errors},
};

bool begins(std::string_view s, std::string_view with) { return s.substr(0, with.size()) == with; }
bool name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ':';
}
std::string kept(std::string_view s) { return printable(s.substr(0, kNodeTextMax)); }

// One line: its name, its labels with escapes undone, its value.
struct Line {
  std::string_view name;
  std::vector<std::pair<std::string_view, std::string>> labels;
  double value = 0;

  std::string_view label(std::string_view key) const {
    for (const auto& [k, v] : labels) {
      if (k == key) return v;
    }
    return {};
  }
};

class Cursor {
 public:
  explicit Cursor(std::string_view s) : s_(s) {}
  bool read(Line& out) {
    out.labels.clear();
    out.name = word();
    if (out.name.empty()) return false;
    if (take('{') && !labels(out)) return false;
    blanks();
    std::string_view rest = s_;
    if (!rest.empty() && rest[0] == '+') rest.remove_prefix(1);
    const auto r = std::from_chars(rest.data(), rest.data() + rest.size(), out.value);
    if (r.ec != std::errc()) return false;
    // A time or an exemplar may follow.
    return r.ptr == rest.data() + rest.size() || *r.ptr == ' ' || *r.ptr == '\t' || *r.ptr == '\r';
  }

 private:
  void blanks() { s_.remove_prefix(std::min(s_.find_first_not_of(" \t"), s_.size())); }
  bool take(char c) {
    if (s_.empty() || s_[0] != c) return false;
    s_.remove_prefix(1);
    return true;
  }
  std::string_view word() {
    std::size_t n = 0;
    while (n < s_.size() && name_char(s_[n])) ++n;
    const std::string_view w = s_.substr(0, n);
    s_.remove_prefix(n);
    return w;
  }
  bool labels(Line& out) {
    while (true) {
      blanks();
      if (take('}')) return true;
      const std::string_view key = word();
      if (key.empty() || !take('=') || !take('"')) return false;
      std::string value;
      while (!s_.empty() && s_[0] != '"') {
        if (s_[0] == '\\' && s_.size() > 1) {
          s_.remove_prefix(1);
          value += s_[0] == 'n' ? '\n' : s_[0];
        } else {
          value += s_[0];
        }
        s_.remove_prefix(1);
      }
      if (!take('"')) return false;
      out.labels.emplace_back(key, std::move(value));
      blanks();
      if (!take(',') && (s_.empty() || s_[0] != '}')) return false;
    }
  }

  std::string_view s_;
};

class Reader {
 public:
  explicit Reader(NodeMetrics& out) : out_(out) {}

  // False: not the labels or the value it should have.
  bool line(const Line& l) {
    if (!std::isfinite(l.value)) return true;
    if (begins(l.name, "node_infiniband_")) return infiniband(l, l.name.substr(16));
    if (begins(l.name, "node_pcidevice_")) return pcie(l, l.name.substr(15));
    if (begins(l.name, "node_edac_")) return edac(l, l.name.substr(10));
    if (begins(l.name, "node_network_")) return network(l, l.name.substr(13));
    if (l.name == "node_hwmon_temp_celsius") {
      if (l.value < -100 || l.value > 300) return false;
      if (out_.heat.size() < kNodeItemsMax) {
        out_.heat.push_back({kept(l.label("chip")), kept(l.label("sensor")), l.value});
      } else {
        ++out_.left_out;
      }
    }
    if (l.name == "node_vmstat_oom_kill") return counter(out_.oom_kills, l.value);
    if (l.name == "node_nfs_rpc_retransmissions_total") return counter(out_.nfs_retransmissions, l.value);
    if (l.name == "node_boot_time_seconds") return counter(out_.boot_time_s, l.value);
    if (l.name == "node_uname_info") out_.kernel = kept(l.label("release"));
    return true;
  }

 private:
  static bool counter(std::optional<double>& into, double v) {
    if (v < 0) return false;
    into = v;
    return true;
  }
  // The item for which `same` holds; a new one where there is none, nothing where there are too many.
  template <class T, class Same>
  T* item(std::vector<T>& all, Same same, T fresh) {
    // Lines of one thing come close together, in the order of the last series: look from the end, then from the start.
    const auto it = std::find_if(all.rbegin(), all.rend(), same);
    if (it != all.rend()) return &*it;
    if (all.size() == kNodeItemsMax) {
      ++out_.left_out;
      return nullptr;
    }
    all.push_back(std::move(fresh));
    return &all.back();
  }

  bool infiniband(const Line& l, std::string_view what) {
    const std::string device = kept(l.label("device")), port = kept(l.label("port"));
    if (what == "info") {
      if (device.empty()) return false;
      if (out_.ib_cards.size() == kNodeItemsMax) return ++out_.left_out, true;
      out_.ib_cards.push_back({device, kept(l.label("board_id")), kept(l.label("firmware_version")), kept(l.label("hca_type"))});
      return true;
    }
    for (const IbRow& row : kIbRows) {
      if (row.name != what) continue;
      if (device.empty() || port.empty()) return false;
      IbPortMetrics fresh;
      fresh.device = device;
      fresh.port = port;
      auto* p = item(
          out_.ib_ports, [&](const IbPortMetrics& x) { return x.device == device && x.port == port; }, std::move(fresh));
      return p == nullptr || counter(p->*row.field, l.value);
    }
    return true;
  }

  bool pcie(const Line& l, std::string_view what) {
    std::optional<double> PcieLink::*field = what == "current_link_width"                  ? &PcieLink::width
                                             : what == "max_link_width"                    ? &PcieLink::width_max
                                             : what == "current_link_transfers_per_second" ? &PcieLink::transfers_s
                                             : what == "max_link_transfers_per_second"     ? &PcieLink::transfers_max_s
                                                                                           : nullptr;
    if (field == nullptr) return true;
    const auto address =
        read_pci(std::string(l.label("segment")) + ":" + std::string(l.label("bus")) + ":" + std::string(l.label("device")));
    const auto function = parse_uint(l.label("function"));
    if (!address || !function || *function > 7) return false;
    const auto fn = static_cast<unsigned>(*function);
    auto* p = item(
        out_.pcie, [&](const PcieLink& x) { return x.address == *address && x.function == fn; },
        PcieLink{*address, fn, {}, {}, {}, {}});
    return p == nullptr || counter(p->*field, l.value);
  }

  bool edac(const Line& l, std::string_view what) {
    if (what != "correctable_errors_total" && what != "uncorrectable_errors_total") return true;
    const std::string name = kept(l.label("controller"));
    if (name.empty()) return false;
    auto* m = item(
        out_.memory, [&](const MemoryController& x) { return x.name == name; }, MemoryController{name, {}, {}});
    return m == nullptr || counter(what[0] == 'c' ? m->corrected : m->uncorrected, l.value);
  }

  bool network(const Line& l, std::string_view what) {
    if (what != "carrier_changes_total" && what != "up") return true;
    const std::string device = kept(l.label("device"));
    if (device.empty()) return false;
    auto* n = item(
        out_.network, [&](const NetworkLink& x) { return x.device == device; }, NetworkLink{device, {}, {}});
    return n == nullptr || counter(what == "up" ? n->up : n->carrier_changes, l.value);
  }

  NodeMetrics& out_;
};

}  // namespace

NodeMetrics parse_node_exporter(std::string_view text) {
  NodeMetrics out;
  Reader reader(out);
  Line line;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view s = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (s.empty() || s[0] == '#') continue;
    if (s.size() > kNodeLineMax || !Cursor(s).read(line)) {
      ++out.not_understood;
      continue;
    }
    ++out.samples;
    if (!reader.line(line)) ++out.not_understood;
  }
  return out;
}

}  // namespace muster
