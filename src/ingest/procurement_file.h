// data/hardware/procurement.csv: lead times, spreads of prices and failures of what clusters are bought from.
#pragma once
#include <string_view>

#include "base/result.h"
#include "model/procurement.h"

namespace muster {

// Columns item,weeks_low,weeks_high,weeks_from,price_low,price_high,price_from,per_year,per_year_from,source; without the three
// `_from`, what a row says is "given". They are `assumed`, or the day or month of the source. Of what the table does not name,
// the terms that ship are kept.
Result<ProcurementTerms> parse_procurement(std::string_view csv, std::string_view where = "procurement.csv");
const ProcurementTerms& procurement_terms();  // those that ship with the program; made once

}  // namespace muster
