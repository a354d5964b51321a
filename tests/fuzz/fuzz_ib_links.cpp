// iblinkinfo: ports that exist, printable names, and a fabric that can be walked.
#include <cmath>

#include "base/text.h"
#include "check.h"
#include "ingest/ib_links.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  using fuzz::expect;
  const IbLinks links = parse_ib_links({reinterpret_cast<const char*>(data), size});
  for (const PortState& p : links.ports) {
    expect(p.here.port >= 1 && p.here.port <= 254 && (!p.far || (p.far->port >= 1 && p.far->port <= 254)), "ports exist");
    expect(printable(p.here.node) == p.here.node && printable(p.logical) == p.logical, "printable");
    expect(p.lanes >= 0 && p.lanes <= 12 && std::isfinite(p.lane_gbit_s) && p.lane_gbit_s >= 0, "rates are numbers");
    expect((p.lanes == 0) == (p.lane_gbit_s == 0), "lanes have a rate");
  }
  const auto f = links_fabric(links.ports);
  if (!f) {
    expect(!f.error().what.empty() && !f.error().next.empty(), "an error says why");
    return 0;
  }
  expect(!f->links.empty() && f->links.size() % 2 == 0, "cables have two directions");
  for (std::size_t l = 0; l < f->links.size(); ++l) {
    const FabricLink& link = f->links[l];
    expect(link.from < f->nodes.size() && link.to == f->links[l ^ 1U].from && link.gb_s > 0, "links join nodes that are there");
    expect(f->out(link.from, link.port) == l, "each port has one");
  }
  return 0;
}
