// amd-smi's JSON: what is accepted is bounded, printable and finite; what is not says where.
#include <cmath>

#include "base/text.h"
#include "check.h"
#include "ingest/amd_smi.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  using fuzz::expect;
  const auto r = parse_amd_smi({reinterpret_cast<const char*>(data), size});
  if (!r) {
    expect(r.error().what.rfind("byte ", 0) == 0, "an error names its byte");
    return 0;
  }
  expect(r->gpus.size() <= kAmdGpusMax, "GPUs are bounded");
  for (const AmdGpu& g : r->gpus) {
    expect(g.gpu >= 0, "a GPU has its index");
    for (const auto* s : {&g.name, &g.serial, &g.bdf, &g.vbios, &g.driver})
      expect(s->size() <= 8 * kAmdTextMax && printable(*s) == *s, "short and printable");
    for (const auto* v : {&g.hotspot_c, &g.power_w, &g.uncorrected, &g.pcie_width, &g.pages_retired})
      expect(!*v || std::isfinite(**v), "numbers are finite");
  }
  return 0;
}
