// OpenSM's log: bounded, printable; what is told of a line has its number.
#include "base/text.h"
#include "check.h"
#include "ingest/opensm_log.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  using fuzz::expect;
  const SubnetLog log = parse_opensm_log({reinterpret_cast<const char*>(data), size});
  const auto text = [](const std::string& s) {
    expect(s.size() <= 8 * kSubnetLogTextMax && printable(s) == s, "short and printable");
  };
  const auto evidence = [&](const SubnetLog::Evidence& e) {
    expect(e.line >= 1 && e.line <= static_cast<int>(log.lines), "evidence has its line");
    text(e.time), text(e.text);
  };
  expect(log.routings.size() <= kSubnetLogRoutingsMax && log.ports.size() <= kSubnetLogPortsMax, "lists are bounded");
  expect(log.errors.size() <= kSubnetLogCodesMax && log.duplicates.size() <= kSubnetLogDuplicatesMax, "lists are bounded");
  text(log.version);
  for (const std::string& e : log.engines_asked) text(e);
  for (const SubnetLog::Routing& r : log.routings) {
    expect(r.because.size() <= kSubnetLogEvidenceMax && r.odd.size() <= kSubnetLogEvidenceMax, "evidence is bounded");
    text(r.engine), evidence(r.at);
    for (const auto& e : r.because) evidence(e);
  }
  for (const SubnetLog::PortEvent& p : log.ports) text(p.node), evidence(p.at);
  for (const SubnetLog::Duplicate& d : log.duplicates) expect(d.port >= -1 && d.port <= 255, "ports exist"), evidence(d.at);
  return 0;
}
