// ScrapeWriter: one node's metrics in the text format of dcgm-exporter and node_exporter.
#pragma once
#include <string>
#include <string_view>

#include "twin/cluster.h"

namespace muster::twin {

// The driver that the node runs.
std::string_view loaded_driver(const Node& n);

class ScrapeWriter {
 public:
  // Clears `out` and writes into it.
  ScrapeWriter(Cluster& c, NodeId n, std::string& out);

  void load();  // utilisation, power, clock, tensor activity
  void temperatures();
  void counters(std::uint16_t slots);  // of those slots: errors, remaps, links
  void full();                         // everything, beginning with "# muster full"

 private:
  void labels(int slot);
  void line(std::string_view series, int slot, double value, int decimals);
  void line(std::string_view series, int slot, std::uint64_t value);
  void nic_line(std::string_view series, int slot, std::uint64_t value);
  template <class F>
  void each(std::string_view series, int decimals, F value);
  template <class F>
  void each_count(std::string_view series, std::uint16_t slots, F value);
  void series_head(std::string_view series, bool counter);

  Cluster& c_;
  NodeId n_;
  std::string& out_;
  bool full_ = false;
  struct Work {  // of one GPU
    double load = 0;
    double active = 0;  // share of the time that it computes for gangs, and does not wait for their slowest
  };
  void look();  // fills work_

  double inlet_;
  std::array<Work, kSlotsMax> work_;
  bool labelled_ = false;
  std::array<Reading, 16> reading_;
};

}  // namespace muster::twin
