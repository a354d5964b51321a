#include "ingest/procurement_file.h"

#include <fmt/core.h>

#include <optional>

#include "base/check.h"
#include "base/text.h"
#include "ingest/csv.h"
#include "ingest/embedded.h"

namespace muster {
namespace {

constexpr double kWeeksMax = 520;

Result<ProcurementTerms> read(std::string_view text, std::string_view where, ProcurementTerms out) {
  const auto csv = parse_csv(text, where);
  if (!csv) return tl::unexpected(csv.error());
  const auto bad = [&](int line, const std::string& why, const char* next) {
    return fail(Code::bad_input, fmt::format("{}:{}: {}", where, line, why), next);
  };
  const std::vector<std::string> columns = {"item", "weeks_low", "weeks_high", "price_low", "price_high", "per_year", "source"};
  if (csv->header != columns) return bad(1, "the columns must be " + join(columns, ","), "see docs/capacity.md");
  std::array<bool, 5> seen{};
  for (std::size_t i = 0; i < csv->rows.size(); ++i) {
    const auto& f = csv->rows[i];
    const int line = csv->lines[i];
    constexpr auto kNames = names(BuyItem{});
    const auto at = static_cast<std::size_t>(std::find(kNames.begin(), kNames.end(), f[0]) - kNames.begin());
    if (at == kNames.size()) {
      return bad(line, fmt::format("no such item: {}", printable(f[0])), "server, gpu, switch, cable or transceiver");
    }
    if (seen[at]) return bad(line, fmt::format("{} stands there twice", f[0]), "take one of them out");
    seen[at] = true;
    std::array<double, 5> v{};
    constexpr std::array<double, 5> kMax = {kWeeksMax, kWeeksMax, 100, 100, 10};
    for (std::size_t k = 0; k < v.size(); ++k) {
      const auto x = parse_double(f[k + 1]);
      if (!x || !(*x >= 0 && *x <= kMax[k])) {
        return bad(line, fmt::format("{} must be a number from 0 to {}, is '{}'", columns[k + 1], kMax[k], printable(f[k + 1])),
                   "correct the line, or take it out");
      }
      v[k] = *x;
    }
    if (v[0] > v[1] || v[2] > v[3]) return bad(line, "a low value is above its high one", "change them round");
    out[at] = {v[0], v[1], v[2], v[3], v[4], f[6]};
  }
  return out;
}

}  // namespace

Result<ProcurementTerms> parse_procurement(std::string_view csv, std::string_view where) {
  return read(csv, where, procurement_terms());
}

const ProcurementTerms& procurement_terms() {
  static const ProcurementTerms kTerms = [] {
    auto terms = read(embedded_file("hardware/procurement.csv").value_or(""), "procurement.csv", {});
    MUSTER_CHECK(terms.has_value());
    return *terms;
  }();
  return kTerms;
}

}  // namespace muster
