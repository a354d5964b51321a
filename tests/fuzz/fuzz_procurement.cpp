// procurement.csv: what is accepted has low values below high ones, all in range.
#include "check.h"
#include "ingest/procurement_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  using fuzz::expect;
  const auto terms = parse_procurement(std::string_view(reinterpret_cast<const char*>(data), size), "ours.csv");
  if (!terms) {
    expect(terms.error().what.starts_with("ours.csv"), "an error names the file");
    return 0;
  }
  for (const BuyTerms& t : *terms) {
    expect(t.weeks_low >= 0 && t.weeks_low <= t.weeks_high && t.weeks_high <= 520, "weeks are in range");
    expect(t.price_low >= 0 && t.price_low <= t.price_high && t.price_high <= 100, "prices are in range");
    expect(t.per_year >= 0 && t.per_year <= 10, "failures are in range");
  }
  return 0;
}
