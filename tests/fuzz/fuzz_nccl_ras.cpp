// RAS reports: bounded, printable, and only what begins as a report is one.
#include "base/text.h"
#include "check.h"
#include "ingest/nccl_ras.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  using fuzz::expect;
  const RasReport r = parse_nccl_ras({reinterpret_cast<const char*>(data), size});
  const auto text = [](const std::string& s) { expect(s.size() <= 8 * kRasTextMax && printable(s) == s, "short and printable"); };
  expect(r.groups.size() <= kRasItemsMax && r.problems.size() <= kRasItemsMax, "lists are bounded");
  expect(r.recognised || (r.groups.empty() && r.problems.empty()), "what is no report says nothing");
  expect(r.nodes >= -1 && r.processes >= -1 && r.gpus >= -1 && (r.took_s == -1 || r.took_s >= 0), "numbers are in range");
  text(r.version);
  for (const RasGroup& g : r.groups) text(g.status), text(g.errors), expect(g.ranks_expected >= -1, "no overflow");
  for (const RasProblem& p : r.problems) {
    expect(p.members.size() <= kRasItemsMax && p.counts.size() <= kRasItemsMax, "members are bounded");
    text(p.what), text(p.comm), text(p.op), text(p.text);
    for (const RasMember& m : p.members) text(m.node), text(m.gpus), expect(m.rank >= -1 && m.pid >= -1, "in range");
  }
  return 0;
}
