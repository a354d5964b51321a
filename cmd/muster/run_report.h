// What a simulated run prints, for people and for programs.
#pragma once
#include <optional>
#include <string>

#include "trial/run.h"

namespace muster::cmd {

// CPU-seconds and peak memory of this process so far.
struct Usage {
  double cpu_s = 0;
  double rss_mb = 0;
};
Usage usage();

// Without `u` nothing is said of CPU and memory: of several runs at once nobody knows whose they are.
std::string render_run_json(const trial::RunReport& r, const std::optional<Usage>& u);
std::string render_run_text(const trial::RunReport& r, const Usage& u);

}  // namespace muster::cmd
