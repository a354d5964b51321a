// Jobs and their nodes: every job has a name, and its nodes have theirs; errors have file and line.
#include "base/text.h"
#include "check.h"
#include "ingest/job_nodes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const auto jobs = parse_job_nodes({reinterpret_cast<const char*>(data), size}, "jobs");
  if (!jobs) {
    fuzz::expect(jobs.error().what.substr(0, 5) == "jobs:" && !jobs.error().next.empty(),
                 "an error names the file and what to do");
    return 0;
  }
  for (const JobOnNodes& j : *jobs) {
    fuzz::expect(!j.name.empty() && printable(j.name) == j.name, "jobs have names");
    for (const std::string& n : j.nodes) fuzz::expect(!n.empty(), "nodes have names");
  }
  return 0;
}
