// Price lists of clouds, as others publish them, and what such lists are known to get wrong: every row that is left out, changed
// or doubted is named with the reason. docs/cost.md lists the forms and the traps.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/exchange_rate.h"
#include "model/rental.h"

namespace muster {

struct CatalogueAsk {
  std::optional<std::int64_t> as_of;  // day: nothing later is read; of lists without days, the day they were taken
  std::string cloud;                  // of lists that do not name it
  double stale_days = 90;             // a row that much older than the newest is stale
  bool keep_stale = false;            // flagged, but not left out
  std::optional<ExchangeRate> rate;   // of a list that is in another currency; without it such a list is refused
};

// CSV, plain or gzip, told by its columns: our own (what render_rental_csv writes), a dated history by instance, a snapshot of
// prices a GPU-hour, quotations with prices of commitments, or a catalogue of machines with a price each, in two forms. Errors
// are "file:line: reason"; what is merely untrue becomes a flag.
Result<RentalPrices> parse_price_catalogue(std::string_view bytes, std::string_view file, const CatalogueAsk& ask);

// The machines that ship with the program.
const std::vector<KnownInstance>& known_instances();
Result<std::vector<KnownInstance>> parse_known_instances(std::string_view csv, std::string_view where = "instances.csv");

// Our own form: a row each, with its flags and its source.
std::string render_rental_csv(const RentalPrices& prices);

// "H100-SXM", "NVIDIA H100 SXM5 80GB" and "h100" are one; "H100-NVL" and "H100 PCIe" are others.
bool same_gpu(std::string_view one, std::string_view other);

}  // namespace muster
