// Settings and counters of lossless Ethernet: priorities from 0 to 7, numbers that are numbers, bounded and printable.
#include <cmath>

#include "base/text.h"
#include "check.h"
#include "ingest/roce_settings.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  using fuzz::expect;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto s = parse_roce_settings(text, "f"); s) {
    for (const auto* list : {&s->pfc, &s->ecn}) {
      if (!*list) continue;
      for (const int p : **list) expect(p >= 0 && p <= 7, "priorities are from 0 to 7");
    }
    if (s->priority_of) {
      for (const int p : *s->priority_of) expect(p >= -1 && p <= 7, "and so are those of a DSCP");
    }
    for (const auto& n : {s->kmin_kb, s->kmax_kb, s->pmax, s->xoff_kb, s->headroom_kb, s->cable_m, s->line_gb_s, s->mtu_b})
      expect(!n || std::isfinite(*n), "numbers are numbers");
    expect(printable(s->trust) == s->trust, "printable");
  } else {
    expect(s.error().what.starts_with("f: "), "errors begin with the file");
  }
  std::size_t values = 0;
  for (const RoceCounters& c : parse_roce_counters(text, "f")) {
    values += c.value.size();
    expect(printable(c.card) == c.card && !c.value.empty(), "a card with something to tell");
  }
  expect(values <= kRoceCountersMax, "counters are bounded");
  return 0;
}
