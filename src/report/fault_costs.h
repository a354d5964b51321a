// What each class of fault has cost: attempts and GPU-hours, and the money they are at the prices that held.
#pragma once
#include <string>
#include <string_view>

#include "base/json_writer.h"
#include "report/flow_account.h"

namespace muster::report {

// The price of a GPU-hour under a tariff, in that currency; 0: there is none.
double price_of(const FlowAccount& a, std::uint32_t tariff, std::string_view currency);
// "rows" and their sum, for `--by fault`.
void write_fault_rows(JsonWriter& w, const FlowAccount& a, std::string_view currency, bool priced);

}  // namespace muster::report
