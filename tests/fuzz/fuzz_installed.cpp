// What is installed and what was out of service: nodes have names and GPUs, each once; outages end after they begin.
#include <set>

#include "check.h"
#include "ingest/installed_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto f = parse_installed(text, "nodes")) {
    std::set<std::string> names;
    fuzz::expect(!f->nodes.empty(), "there are nodes");
    for (const InstalledNode& n : f->nodes)
      fuzz::expect(!n.name.empty() && n.gpus_milli > 0 && names.insert(n.name).second, "each once");
  } else {
    fuzz::expect(f.error().what.substr(0, 5) == "nodes", "an error names the file");
  }
  if (const auto f = parse_outages(text, "events")) {
    for (const NodeOutage& o : f->outages)
      fuzz::expect(!o.node.empty() && o.from.ns != 0 && (o.to.ns == 0 || o.to >= o.from), "outages end after they begin");
  } else {
    fuzz::expect(f.error().what.substr(0, 7) == "events:" && !f.error().next.empty(), "an error names the file and what to do");
  }
  return 0;
}
