// Parts that wear out: how well the warnings before failures are worth their words. Corrected memory errors, NVLink errors and
// symbol errors of healthy parts, of parts whose errors multiply until they fail, of parts whose errors multiply and then stop,
// and of parts that fail out of the blue, fed to the detectors.
//
// The course of such failures is not published for GPUs: base rates and shares here are assumptions (docs/health/detectors.md),
// so what is measured is whether the detector keeps its word on them, on parts that it was not tuned on.
#pragma once
#include <cstdint>

namespace muster::trial {

struct DecayReport {
  std::uint64_t parts = 0, days = 0;
  std::uint64_t failures = 0;             // of them ...
  std::uint64_t announced = 0;            // ... so many after errors that multiplied
  std::uint64_t warned = 0;               // ... so many of those with a warning before
  std::uint64_t warnings = 0;             // parts warned of
  std::uint64_t came = 0;                 // ... that failed within a week of it
  double lead_h_p10 = 0, lead_h_p50 = 0;  // from the warning to the failure
  std::uint64_t said_sum = 0;             // of the warnings' probabilities, in percent
  double precision() const { return warnings == 0 ? 1 : static_cast<double>(came) / static_cast<double>(warnings); }
  std::uint64_t said_pct() const { return warnings == 0 ? 0 : said_sum / warnings; }
  double recall() const { return announced == 0 ? 1 : static_cast<double>(warned) / static_cast<double>(announced); }
};

DecayReport bench_decay(std::uint64_t seed, std::uint32_t nodes = 50);

}  // namespace muster::trial
