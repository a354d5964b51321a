#include "ingest/acceptance_reference.h"

#include <fmt/core.h>

#include "base/check.h"
#include "base/text.h"
#include "ingest/csv.h"
#include "ingest/embedded.h"

namespace muster {

Result<std::vector<AcceptReference>> parse_acceptance_references(std::string_view text, std::string_view suite,
                                                                 std::string_view where) {
  const auto csv = parse_csv(text, where);
  if (!csv) return tl::unexpected(csv.error());
  std::vector<AcceptReference> out;
  for (std::size_t i = 0; i < csv->rows.size(); ++i) {
    const auto bad = [&](std::string_view column, std::string_view must) {
      return fail(Code::bad_input, fmt::format("{}:{}: {} must be {}, is '{}'", where, csv->lines[i], column, must,
                                               printable(csv->cell(i, column))));
    };
    const auto median = parse_double(csv->cell(i, "median")), sigma = parse_double(csv->cell(i, "sigma"));
    const auto cards = parse_uint(csv->cell(i, "cards"));
    if (!median || !(*median > 0 && *median < 1e12)) return bad("median", "a number above 0");
    if (!sigma || !(*sigma >= 0 && *sigma < 1)) return bad("sigma", "a share, 0 to 1");
    if (!cards || *cards < 1 || *cards > 1'000'000) return bad("cards", "a number of cards");
    if (csv->cell(i, "model").empty()) return bad("model", "what the driver calls it");
    if (csv->cell(i, "metric").empty()) return bad("metric", "a figure's name");
    if (csv->cell(i, "source").empty()) return bad("source", "where it was measured");
    if (csv->cell(i, "suite") != suite) continue;
    out.push_back({csv->cell(i, "model"), csv->cell(i, "part"), csv->cell(i, "algorithms"), csv->cell(i, "metric"), *median,
                   *sigma, static_cast<std::uint32_t>(*cards), csv->cell(i, "source")});
  }
  return out;
}

std::vector<AcceptReference> shipped_acceptance_references(std::string_view suite) {
  auto read = parse_acceptance_references(embedded_file("accept/reference.csv").value_or(""), suite);
  MUSTER_CHECK(read);
  return std::move(*read);
}

}  // namespace muster
