// The figures of one GPU: one value a metric, from its repetitions and from the stretches over which rates were held.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "model/acceptance.h"

namespace muster::accept {

// Of one test round: the better of two where a test was repeated. Among them what is derived: rates per MHz of the SM clock
// ("bf16_per_mhz"), the clock held at the power limit ("mhz_at_cap"), the spread of held rates ("bf16_spread").
struct Figures {
  std::int32_t gpu = 0;
  std::map<std::string, double> value;
};
Figures figures_of(const Acceptance& a, std::int32_t gpu);
std::vector<Figures> figures_of(const Acceptance& a);

// What readings of power, clock and heat say, as rows to be kept beside them: whoever looks at a fleet need not read them all.
std::vector<accepting::Measured> from_readings(const Acceptance& a);

// Which figures can be held against each other: a GPU's model, its power limit, driver, library and cooling, and the suite.
struct Cohort {
  std::string model;
  std::string power;  // "700 W"
  std::string driver, cublas, cooling;
  std::string suite;  // version and hash of what was asked

  auto operator<=>(const Cohort&) const = default;
};
Cohort cohort_of(const Acceptance& a, const accepting::Gpu& g);
std::string render(const Cohort& c);  // "NVIDIA H200, 700 W, driver 580.159.04, cuBLASLt 13.1.0, air"

}  // namespace muster::accept
