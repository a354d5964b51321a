// The published rates as the twin uses them.
#include <fmt/core.h>

#include "base/text.h"
#include "ingest/fault_rates.h"
#include "twin/fault.h"

namespace muster::twin {

Result<std::vector<FaultRate>> parse_rates(std::string_view csv, std::string_view where) {
  auto rows = parse_fault_rates(csv, where);
  if (!rows) return tl::unexpected(rows.error());
  std::vector<FaultRate> out;
  for (FaultRateRow& r : *rows) {
    FaultRate rate;
    if (!parse_name(r.kind, rate.kind)) {
      return fail(Code::bad_input, fmt::format("{}:{}: no such kind of fault: {}", where, r.line, printable(r.kind)));
    }
    rate.per_gpu_hour = r.per_gpu_hour;
    rate.source = std::move(r.source);
    out.push_back(std::move(rate));
  }
  return out;
}

}  // namespace muster::twin
