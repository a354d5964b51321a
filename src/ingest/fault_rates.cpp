#include "ingest/fault_rates.h"

#include <fmt/core.h>

#include "base/text.h"
#include "ingest/csv.h"

namespace muster {

Result<std::vector<FaultRateRow>> parse_fault_rates(std::string_view text, std::string_view where) {
  auto csv = parse_csv(text, where);
  if (!csv) return tl::unexpected(csv.error());
  const auto bad = [&](int line, const std::string& why) {
    return fail(Code::bad_input, fmt::format("{}:{}: {}", where, line, why));
  };
  if (csv->header != std::vector<std::string>{"kind", "per_gpu_hour", "source", "note"}) {
    return bad(1, "the columns must be kind,per_gpu_hour,source,note");
  }
  std::vector<FaultRateRow> rows;
  for (std::size_t i = 0; i < csv->rows.size(); ++i) {
    auto& f = csv->rows[i];
    const int line = csv->lines[i];
    const auto rate = parse_double(f[1]);
    if (!rate || !(*rate >= 0 && *rate <= 1)) {
      return bad(line, fmt::format("per_gpu_hour must be a number from 0 to 1, is '{}'", printable(f[1])));
    }
    for (const FaultRateRow& r : rows) {
      if (r.kind == f[0]) return bad(line, fmt::format("{} stands in line {} already", printable(r.kind), r.line));
    }
    rows.push_back({std::move(f[0]), *rate, std::move(f[2]), std::move(f[3]), line});
  }
  if (rows.empty()) return bad(1, "no rates");
  return rows;
}

}  // namespace muster
