// lspci: bounded, printable, in the order of its lines; what redirects has ACS.
#include "base/text.h"
#include "check.h"
#include "ingest/lspci.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  using fuzz::expect;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto ports = parse_lspci(text, "lspci.txt");
  expect(ports.size() <= kPciPortsMax, "ports are bounded");
  std::uint32_t line = 0;
  for (const PciPort& p : ports) {
    expect(p.line >= line, "in their order");
    line = p.line;
    expect(printable(p.address) == p.address && printable(p.what) == p.what, "printable");
    expect(p.acs || (!p.redirected && !p.source_validated), "what redirects has ACS");
    expect(p.lanes <= 64 && p.lanes_most <= 64 && p.gt_s >= 0 && p.gt_s <= 1024, "links are in range");
  }
  return 0;
}
