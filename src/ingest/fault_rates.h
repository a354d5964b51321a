// data/fault_rates.csv: how often each kind of fault strikes, with the source of the number.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster {

struct FaultRateRow {
  std::string kind;
  double per_gpu_hour = 0;
  std::string source;
  std::string note;
  int line = 0;
};

// Columns kind,per_gpu_hour,source,note; quoted fields as in RFC 4180. Errors name `where` and the line.
Result<std::vector<FaultRateRow>> parse_fault_rates(std::string_view csv, std::string_view where = "fault_rates.csv");

}  // namespace muster
