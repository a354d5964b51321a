// Tables of power caps and of what GPUs draw: what is accepted is above 0, finite and in order.
#include <cmath>

#include "check.h"
#include "ingest/power_tables.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto caps = parse_power_caps(text, "c.csv"); !caps) {
    fuzz::expect_file_error(caps.error(), "c.csv");
  } else {
    for (std::size_t i = 0; i < caps->size(); ++i) {
      const CapPoint& p = (*caps)[i];
      fuzz::expect(p.cap_w > 0 && p.time_ratio > 0 && p.energy_ratio > 0 && std::isfinite(p.time_ratio), "above 0");
      const CapPoint* before = i > 0 ? &(*caps)[i - 1] : nullptr;
      fuzz::expect(before == nullptr || before->gpu != p.gpu || before->bound != p.bound || before->cap_w > p.cap_w,
                   "highest cap first");
    }
  }
  if (const auto watts = parse_gpu_watts(text, "w.csv"); !watts) {
    fuzz::expect_file_error(watts.error(), "w.csv");
  } else {
    for (const GpuWatts& w : *watts) fuzz::expect(w.idle_w > 0 && w.idle_w <= w.typical_w && w.typical_w <= w.max_w, "they rise");
  }
  return 0;
}
