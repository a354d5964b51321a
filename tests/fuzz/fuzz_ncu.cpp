// Tables of Nsight Compute: any text gives measurements within their promises and findings about them, or an error.
#include "base/text.h"
#include "check.h"
#include "diagnose/kernel_profile.h"
#include "ingest/ncu_csv.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  using fuzz::expect;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const bool looks = looks_like_ncu_csv(text);
  const auto p = parse_ncu_csv(text, "fuzz.csv");
  if (!p) return 0;
  expect(looks, "what is read looks like it");
  expect(!p->launches.empty(), "there are launches, or an error");
  for (const KernelMeasurement& k : p->launches) {
    expect(printable(k.name) == k.name, "names are printable");
    for (const auto& v : {k.duration_ns, k.sm_pct, k.waves, k.blocks, k.sm_hz, k.dram_bytes_per_s})
      expect(!v || *v >= 0, "measurements are not negative");
  }
  const diagnose::KernelDiagnosis d = diagnose::diagnose_kernels(*p);
  expect(!d.kernels.empty(), "each kernel has a verdict");
  for (const diagnose::Finding& f : d.findings) expect(printable(f.title) == f.title, "findings can be shown");
  return 0;
}
