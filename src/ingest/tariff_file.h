// A site's electricity tariff, in YAML: prices by month, day and hour, fees, and charges for the highest draw of a month. The
// form is described in docs/formats/tariff.md.
#pragma once
#include <string_view>

#include "base/result.h"
#include "model/tariff.h"

namespace muster {

constexpr std::size_t kTariffRulesMax = 100;

// When the clocks of its zone change is not in the file: `offsets` stays empty. Every hour of every day and month has a price of
// energy in what is accepted, unless the prices come from a series ("energy: hourly"). Errors are "file:line: reason".
Result<Tariff> parse_tariff(std::string_view text, std::string_view file);

}  // namespace muster
