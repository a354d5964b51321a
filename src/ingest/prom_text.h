// Scrapes of dcgm-exporter and node_exporter, in the Prometheus text format or as OpenMetrics, to samples.
#pragma once
#include <cstddef>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "model/sample.h"
#include "model/site.h"

namespace muster {

constexpr std::size_t kScrapeLineMax = 4096;    // bytes; a longer line is malformed
constexpr std::size_t kScrapeLabelMax = 256;    // bytes of a label's name or value
constexpr std::size_t kScrapeSeriesMax = 8192;  // series of one scrape that are read; the rest is refused

// Appends what the detectors understand to `out` and returns the number of lines refused: malformed, of a slot the node
// does not have, out of the field's range, or with another node's hostname. Series Muster has no use for, blank values
// and NaN are dropped silently. Time and node are the scraper's word, never the text's.
//
// Where the GPUs of one exporter are, learnt from a page that shows all of them: for sites whose cluster file does not give the
// addresses (gpu_pci). Filled and used by parse_scrape.
struct GpuPlaces {
  std::vector<std::uint64_t> address;  // by slot; empty: not learnt, or not needed
};

// The GPU's slot is that of its PCI address where the line has one (the exporter's index shifts when a GPU is lost): by the
// cluster file, else by `places`; else gpu="N". Of a partitioned GPU's rows the first instance speaks for the whole. A NIC's slot
// is the N of device="mlx5_N". NVLink's error totals are added up into one sample per slot, and so are its failures: a scrape has
// all of those series it ever has, or none. A text that begins with the line "# muster full" holds every GPU the node has: a
// sample of Field::gpus_visible with the mask of the slots seen ends it.
std::size_t parse_scrape(std::string_view text, NodeId node, Time at, const Site& site, std::vector<Sample>& out,
                         GpuPlaces* places = nullptr);

}  // namespace muster
