// Readings as a Prometheus page: GPUs under dcgm-exporter's names and labels, ports under node_exporter's, and under muster_*
// what neither has. And as a verdict, for `muster check`.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "adapters/agent/readings.h"

namespace muster::agent {

struct ProbeStatus {
  bool hung = false;
  double took_s = 0;    // of the last answer
  std::string trouble;  // what a mount or a site's own probe complains of; empty: nothing
};

// What the agent knows of itself.
struct Figures {
  std::map<std::string, ProbeStatus> probes;
  std::uint64_t kernel_records = 0;  // read
  std::uint64_t kernel_faults = 0;   // of those, understood
  std::uint64_t kernel_missing = 0;  // overwritten before they could be read
  std::uint64_t held_back = 0;       // understood, but too many of one kind
  std::uint64_t dropped = 0;         // the spool was full
  std::uint64_t sent = 0;
  std::uint64_t job_reports = 0;   // jobs told of themselves
  std::uint64_t job_refusals = 0;  // and were sent away
  std::uint64_t spool_bytes = 0;
  bool controller_answers = false;
  bool kernel_trusted = false;
  std::map<std::string, std::string> fatal;  // PCI address -> the newest record of a fault that ends the GPU's service
};

struct Picture {
  Readings readings;
  Figures figures;
};

std::string render_exposition(const Picture& p, const std::string& hostname);
// In plain words, the worst first; none: the node is fit for work.
std::vector<std::string> check_node(const Picture& p);
std::string render_json(const Picture& p, const std::string& hostname);

}  // namespace muster::agent
