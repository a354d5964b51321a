#include "ingest/procurement_file.h"

#include <fmt/core.h>

#include <optional>

#include "base/check.h"
#include "base/civil.h"
#include "base/text.h"
#include "ingest/csv.h"
#include "ingest/embedded.h"

namespace muster {
namespace {

constexpr double kWeeksMax = 520;

// "assumed", "2024", "2024-04" or "2024-04-30".
bool is_from(std::string_view s) {
  if (s == kAssumed) return true;
  if (s.size() != 4 && s.size() != 7 && s.size() != 10) return false;
  const std::string day = std::string(s) + std::string(std::string_view("0000-01-01").substr(s.size()));
  const auto y = parse_uint(day.substr(0, 4)), m = parse_uint(day.substr(5, 2)), d = parse_uint(day.substr(8, 2));
  if (!y || !m || !d || *y < 1970 || day[4] != '-' || day[7] != '-') return false;
  return day_of(static_cast<std::int64_t>(*y), static_cast<std::int64_t>(*m), static_cast<std::int64_t>(*d)).has_value();
}

Result<ProcurementTerms> read(std::string_view text, std::string_view where, ProcurementTerms out) {
  const auto csv = parse_csv(text, where);
  if (!csv) return tl::unexpected(csv.error());
  const auto bad = [&](int line, const std::string& why, const char* next) {
    return fail(Code::bad_input, fmt::format("{}:{}: {}", where, line, why), next);
  };
  const std::vector<std::string> columns = {"item", "weeks_low", "weeks_high", "price_low", "price_high", "per_year", "source"};
  const std::vector<std::string> dated = {"item",       "weeks_low",  "weeks_high", "weeks_from",    "price_low",
                                          "price_high", "price_from", "per_year",   "per_year_from", "source"};
  const bool has_from = csv->header == dated;
  if (csv->header != columns && !has_from)
    return bad(1, "the columns must be " + join(dated, ",") + ", or the same without the three of _from", "see docs/capacity.md");
  constexpr std::array<std::size_t, 5> kPlain = {1, 2, 3, 4, 5}, kDated = {1, 2, 4, 5, 7};
  constexpr std::array<std::size_t, 3> kFrom = {3, 6, 8};
  const auto& of = has_from ? kDated : kPlain;
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
      const auto x = parse_double(f[of[k]]);
      if (!x || !(*x >= 0 && *x <= kMax[k])) {
        return bad(line, fmt::format("{} must be a number from 0 to {}, is '{}'", columns[k + 1], kMax[k], printable(f[of[k]])),
                   "correct the line, or take it out");
      }
      v[k] = *x;
    }
    if (v[0] > v[1] || v[2] > v[3]) return bad(line, "a low value is above its high one", "change them round");
    std::array<std::string, 3> from;
    for (std::size_t k = 0; k < from.size(); ++k) {
      from[k] = has_from ? f[kFrom[k]] : std::string(kGiven);
      if (has_from && !is_from(from[k]))
        return bad(line,
                   fmt::format("{} must be assumed, or a day such as 2026-11-02, is '{}'", dated[kFrom[k]], printable(from[k])),
                   "say from when it is, or that it is assumed");
    }
    out[at] = {v[0], v[1], v[2], v[3], v[4], f.back(), from[0], from[1], from[2]};
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
