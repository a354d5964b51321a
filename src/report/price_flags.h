// What is doubtful in a list of cloud prices, row by row.
#pragma once
#include <string>

#include "model/rental.h"
#include "report/table.h"

namespace muster::report {

Table price_flags(const RentalPrices& prices);
// "521 rows read, 331 kept, 190 left out; 90 flagged: ..."
std::string price_summary(const RentalPrices& prices);
std::string price_json(const RentalPrices& prices);

}  // namespace muster::report
