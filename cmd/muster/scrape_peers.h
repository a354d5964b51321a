// Programs that scrape, ours among them, measured on the payload they are given: what a sample costs them in CPU time.
#pragma once
#include <string>
#include <vector>

#include "model/site.h"

namespace muster::cmd {

struct PeerFigures {
  std::string name;
  std::string absent;         // why there are no figures; empty: there are
  std::uint32_t series = 0;   // per GPU
  std::uint64_t samples = 0;  // appended in the time measured, by the peer's own count
  double cpu_s = 0;           // user and system time of its process meanwhile
  double rss_mb = 0;          // at the end
  double samples_per_cpu_s() const { return cpu_s > 0 ? static_cast<double>(samples) / cpu_s : 0; }
};

struct PeerBench {
  Site site;
  std::uint32_t series = 25;
  double seconds = 20;  // measured, after each target has been scraped once
  int interval_s = 5;   // between two scrapes of a target
};

// `muster up --scrape`, prometheus and victoria-metrics, one after the other, with default settings, a target for each node on
// loopback, and their storage in a folder that is removed afterwards.
std::vector<PeerFigures> measure_peers(const PeerBench& bench);

}  // namespace muster::cmd
