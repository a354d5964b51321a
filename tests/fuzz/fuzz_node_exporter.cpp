// node_exporter: lists are bounded, texts printable, values finite and never negative where they count; every line is accounted
// for.
#include <cmath>

#include "base/text.h"
#include "check.h"
#include "ingest/node_exporter.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  using fuzz::expect;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const NodeMetrics m = parse_node_exporter(all);
  const auto lines = static_cast<std::size_t>(std::count(all.begin(), all.end(), '\n')) + 1;
  expect(m.samples <= lines && m.not_understood <= lines && m.left_out <= lines, "counts are of lines");
  const auto text = [](const std::string& s) {
    expect(s.size() <= 8 * kNodeTextMax && printable(s) == s, "short and printable");
  };
  const auto counts = [](const std::optional<double>& v) {
    expect(!v || (std::isfinite(*v) && *v >= 0), "finite, not negative");
  };
  for (const auto n : {m.ib_ports.size(), m.ib_cards.size(), m.pcie.size(), m.memory.size(), m.heat.size(), m.network.size()})
    expect(n <= kNodeItemsMax, "lists are bounded");
  for (const IbPortMetrics& p : m.ib_ports) text(p.device), text(p.port), counts(p.state), counts(p.link_downed);
  for (const IbCard& c : m.ib_cards) text(c.device), text(c.board), text(c.firmware), text(c.type);
  for (const PcieLink& l : m.pcie) expect(l.function <= 7, "a function is one digit"), counts(l.width), counts(l.width_max);
  for (const MemoryController& c : m.memory) text(c.name), counts(c.corrected), counts(c.uncorrected);
  for (const HeatSensor& h : m.heat) text(h.chip), text(h.sensor), expect(h.temp_c >= -100 && h.temp_c <= 300, "a temperature");
  for (const NetworkLink& n : m.network) text(n.device), counts(n.carrier_changes), counts(n.up);
  counts(m.oom_kills), counts(m.nfs_retransmissions), counts(m.boot_time_s), text(m.kernel);
  return 0;
}
