// `ibqueryerrors` and `perfquery`: the error counters of the ports of an InfiniBand fabric.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/fabric_readings.h"

namespace muster {

constexpr std::size_t kIbLineMax = 4096;
constexpr std::size_t kIbPortsMax = 1 << 20;  // read; the rest is counted
constexpr std::size_t kIbCountersMax = 64;  // of one port; the rest is counted
constexpr std::size_t kIbTextMax = 160;     // bytes of text kept

struct IbPortErrors {
  std::uint64_t guid = 0;
  std::string node;                                             // description: a switch's or an adapter's name; untrusted
  int port = -1;                                                // -1: the sum over all ports of the node
  std::vector<std::pair<std::string, std::uint64_t>> counters;  // "SymbolErrorCounter", 65535 (those of 8 or 16 bits stop there)
  std::string link;                                             // with --report-port: where the cable goes
};

struct IbErrors {
  std::vector<IbPortErrors> ports;
  bool complete = false;  // its summary was there
  std::int64_t nodes_checked = -1, nodes_bad = -1, ports_checked = -1, ports_bad = -1;
  std::map<std::string, std::uint64_t> thresholds;  // by counter: up to this the tool says nothing
  std::vector<std::string> warnings;                // of the tool itself: nodes that did not answer; the first few
  std::uint32_t not_understood = 0;                 // lines
  std::uint32_t left_out = 0;
};

IbErrors parse_ib_errors(std::string_view text);
CounterReading counter_reading(const IbErrors& errors);

// `perfquery`, with or without -x, one port or many: it names ports by lid, "lid 2[1]".
CounterReading parse_perfquery(std::string_view text);
// Either of the two, by what the text holds.
CounterReading parse_counters(std::string_view text);

}  // namespace muster
