#include "adapters/agent/facts_probe.h"

#include "adapters/facts/host.h"
#include "adapters/facts/probe.h"
#include "ingest/fact_book.h"
#include "ingest/facts_file.h"

namespace muster::agent {

std::string FactsProbe::ask(Time now) {
  constexpr Duration kEvery = hours(1);
  // Once an hour it may take longer to look for NCCL in the memory of jobs: a fiftieth of a second is 0.0006 % of a core.
  constexpr double kCpuMs = 20;
  const std::string driver = facts::Host(root_, true).line("/sys/module/nvidia/version").text;
  if (asked_ && driver == driver_ && now - read_ < kEvery) return {};
  asked_ = true;
  driver_ = driver;
  read_ = now;
  facts::ProbeOptions o;
  o.node = node_;
  o.root = root_;
  o.cpu_ms_most = kCpuMs;
  FactTable table;
  if (!facts::read_host(o, fact_book(), table)) return {};
  return render_facts(table, 0);
}

}  // namespace muster::agent
