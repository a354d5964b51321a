// Tariffs: what is accepted has a price for every hour of every week and month, or takes them from a series.
#include "check.h"
#include "ingest/tariff_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const auto t = parse_tariff(std::string_view(reinterpret_cast<const char*>(data), size), "t.yaml");
  if (!t) {
    fuzz::expect_file_error(t.error(), "t.yaml");
    return 0;
  }
  fuzz::expect(t->energy.size() <= kTariffRulesMax && t->demand.size() <= kTariffRulesMax, "bounded");
  fuzz::expect(t->hourly == t->energy.empty(), "prices are in the file, or in a series");
  for (std::uint32_t i = 0; !t->hourly && i < 12 * 7 * 24; ++i)
    fuzz::expect(rule_of(*t, {2026, i / 168, i / 24 % 7, i % 24}) != nullptr, "every hour has a price");
  return 0;
}
