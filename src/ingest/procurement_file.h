// data/hardware/procurement.csv: lead times, spreads of prices and failures of what clusters are bought from.
#pragma once
#include <string_view>

#include "base/result.h"
#include "model/procurement.h"

namespace muster {

// Columns item,weeks_low,weeks_high,price_low,price_high,per_year,source. Of what the table does not name, the terms that ship
// are kept.
Result<ProcurementTerms> parse_procurement(std::string_view csv, std::string_view where = "procurement.csv");
const ProcurementTerms& procurement_terms();  // those that ship with the program; made once

}  // namespace muster
