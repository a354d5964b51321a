// Estimates of run time: from what the user said and from what jobs like it did (model/run_history.h).
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "model/run_history.h"

namespace muster::decide {

enum class EstimateFrom : std::uint8_t { name, user, all, limit, nothing };

struct Estimate {
  Duration run;
  EstimateFrom from = EstimateFrom::nothing;
  std::uint64_t runs = 0;  // that it rests on
};

struct EstimatePolicy {
  double quantile = 0.5;
  std::uint64_t runs_min = 5;    // a history with fewer is passed over for a wider one
  Duration unknown = hours(24);  // no limit, no history
};

// The narrowest history that has enough runs; never more than `limit` (zero: none was given). With no history: the limit.
Estimate estimate_run(const Histories& h, std::string_view user, std::string_view job_name, Duration limit,
                      const EstimatePolicy& policy = {});

// When a running job is expected to end: at started + estimate. Has it outlived that, the estimate is doubled until it lies
// ahead, which is what remains of a heavy-tailed run time: about as long again. Always after now.
Time expected_end(Time started, Duration estimate, Time now);

}  // namespace muster::decide
