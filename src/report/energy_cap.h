// What a power cap saves and costs, as a table and one sentence.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "model/power_cap.h"
#include "predict/power_cap.h"
#include "report/table.h"

namespace muster::report {

struct CapReport {
  std::vector<CapPoint> curve;     // the highest cap first
  std::optional<CapPoint> chosen;  // none: all that were measured
  predict::CapSetting setting;
  bool power_assumed = false;   // what the GPU draws without a cap was not measured with the curve
  double gpus = 8, hours = 24;  // of the job, without a cap
  std::string currency = "USD";
};

// Whether it pays, and from which rate of the GPU-hour on it does not.
std::string cap_verdict(const CapReport& r, const CapPoint& at);
std::string render_cap_text(const CapReport& r, const TableStyle& style);
std::string render_cap_json(const CapReport& r);
std::string render_cap_csv(const CapReport& r);

}  // namespace muster::report
