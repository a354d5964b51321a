// LLDP in its forms: who tells is known, names are printable, and the network can be walked.
#include <cmath>

#include "base/text.h"
#include "check.h"
#include "ingest/lldp.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  using fuzz::expect;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const char* host : {"", "gpu1"}) {
    const auto all = parse_lldp(text, "f", host);
    if (!all) {
      expect(all.error().what.substr(0, 2) == "f:" && !all.error().next.empty(), "an error names the file and what to do");
      continue;
    }
    for (const LldpNeighbour& n : *all) {
      expect(!n.host.empty() || *host != '\0' || text.find("\"\"") != std::string_view::npos, "who tells is known");
      expect(printable(n.far_name) == n.far_name && printable(n.far_port) == n.far_port, "printable");
      expect(std::isfinite(n.gbit_s) && n.gbit_s >= 0, "rates are numbers");
    }
    const auto f = lldp_fabric(*all, 50);
    if (!f) {
      expect(!f.error().what.empty() && !f.error().next.empty(), "an error says why");
      continue;
    }
    for (std::size_t l = 0; l < f->links.size(); ++l) {
      const FabricLink& link = f->links[l];
      expect(link.to == f->links[l ^ 1U].from && f->out(link.from, link.port) == l && link.gb_s > 0, "each port has one cable");
    }
  }
  return 0;
}
