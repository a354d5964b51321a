// ibqueryerrors: bounded, printable, ports that exist; every line is read or counted.
#include "base/text.h"
#include "check.h"
#include "ingest/ib_errors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  using fuzz::expect;
  const IbErrors e = parse_ib_errors({reinterpret_cast<const char*>(data), size});
  const auto text = [](const std::string& s) { expect(s.size() <= 8 * kIbTextMax && printable(s) == s, "short and printable"); };
  expect(e.ports.size() <= kIbPortsMax, "ports are bounded");
  expect(!e.complete || (e.nodes_checked >= 0 && e.ports_checked >= 0), "what is complete has its summary");
  for (const std::string& w : e.warnings) text(w);
  for (const IbPortErrors& p : e.ports) {
    expect(p.port >= -1 && p.port <= 255 && p.counters.size() <= kIbCountersMax, "ports and counters are in range");
    text(p.node), text(p.link);
    for (const auto& [name, value] : p.counters) text(name);
  }
  return 0;
}
