#include "adapters/agent/facts_probe.h"

#include "adapters/facts/probe.h"
#include "ingest/fact_book.h"
#include "ingest/facts_file.h"

namespace muster::agent {

std::string ask_facts(const std::string& node, const std::string& root) {
  // It may take longer than at a prompt to look for NCCL in the memory of jobs: a fiftieth of a second every five minutes is
  // 0.007 % of a core.
  constexpr double kCpuMs = 20;
  facts::ProbeOptions o;
  o.node = node;
  o.root = root;
  o.cpu_ms_most = kCpuMs;
  FactTable table;
  if (!facts::read_host(o, fact_book(), table)) return {};
  return render_facts(table, 0);
}

}  // namespace muster::agent
