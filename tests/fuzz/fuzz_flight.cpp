// Dumps of flight recorders: pickles and JSON from anybody give bounded data or an error, and never anything else.
#include "base/text.h"
#include "check.h"
#include "ingest/flight_recorder.h"
#include "ingest/pickle.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  using fuzz::expect;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  looks_like_flight_record(bytes);
  parse_pickle(bytes);
  const auto r = parse_flight_record(bytes, "dump_3");
  if (!r) return 0;
  expect(r->rank == 3, "the rank is the file's");
  for (const ExchangeCall& c : r->calls) {
    expect(c.group < r->groups.size(), "a call is of a group");
    for (const auto* s : {&c.op, &c.dtype, &c.caller}) expect(printable(*s) == *s, "texts are printable");
  }
  for (const ExchangeGroup& g : r->groups) expect(std::is_sorted(g.ranks.begin(), g.ranks.end()), "ranks are in order");
  return 0;
}
