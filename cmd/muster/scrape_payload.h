// What a dcgm-exporter of a healthy node of 8 GPUs would say, made up: the payload that `muster bench ingest` gives to Muster's
// parser and to other programs alike.
#pragma once
#include <cstdint>
#include <string>

#include "model/site.h"

namespace muster::cmd {

constexpr std::uint32_t kDefaultSeries = 25;  // of a GPU: dcgm-exporter's default counters
constexpr std::uint32_t kFullSeries = 125;    // with error counters, every NVLink lane, and the activity of all units

// The text of one scrape of that node. Gauges differ from round to round, counters stand still. `series` is per GPU, at most
// kFullSeries.
std::string render_payload(const Site& site, NodeId node, std::uint32_t series, std::uint64_t round);

}  // namespace muster::cmd
