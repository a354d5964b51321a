// ibqueryerrors and perfquery: bounded, printable, ports that exist; every line is read or counted.
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
  const CounterReading reading = counter_reading(e);
  expect(reading.ports.size() <= e.ports.size() && e.thresholds.size() <= kIbCountersMax, "readings are bounded");
  const CounterReading p = parse_perfquery({reinterpret_cast<const char*>(data), size});
  for (const PortCounters& c : p.ports) {
    expect(c.port.port >= 0 && c.port.port <= 254 && c.values.size() <= kIbCountersMax, "ports and counters are in range");
    for (const auto& [name, value] : c.values) text(name);
  }
  for (const CounterGrowth& g : counter_growth(p, reading, 2))
    expect(g.grew <= g.after && g.per_s >= 0, "growth is what was added");
  return 0;
}
