// Lists of cloud prices: what is kept has a price and a day, what is not is counted, every flag names its row, and our own form
// comes back as it was written.
#include <cmath>

#include "check.h"
#include "ingest/price_catalogue.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto prices = parse_price_catalogue(text, "p.csv", {.as_of = 21'000, .cloud = "somebody"});
  if (!prices) {
    fuzz::expect(prices.error().what.starts_with("p.csv"), "an error names its file");
    return 0;
  }
  fuzz::expect(prices->left_out <= prices->read && prices->rows.size() + prices->left_out <= prices->read,
               "rows are counted once");
  if (prices->form != "machines") fuzz::expect(prices->rows.size() + prices->left_out == prices->read, "each of them");
  for (const RentalRow& r : prices->rows) {
    bool any = false;
    for (const auto& usd : r.usd_per_gpu_hour) {
      any = any || usd.has_value();
      fuzz::expect(!usd || (std::isfinite(*usd) && *usd > 0), "a price is above 0");
    }
    fuzz::expect(any, "what is kept has one");
    fuzz::expect(r.day <= 21'000, "and is not later than was asked for");
  }
  for (const PriceFlag& f : prices->flags)
    fuzz::expect(!f.row.empty() && !f.why.empty() && !f.done.empty(), "a flag says what and why");
  if (prices->rows.empty()) return 0;  // a list of nothing is refused
  const auto again = parse_price_catalogue(render_rental_csv(*prices), "again.csv", {});
  fuzz::expect(again.has_value(), "our own form is read");
  fuzz::expect(again->read == prices->rows.size(), "row by row");
  return 0;
}
