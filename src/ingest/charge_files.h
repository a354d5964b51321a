// The files that charging is made of: rates, allocations (both CSV), and the ledger of what was charged (JSON, a line a charge).
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/charge.h"

namespace muster {

// Columns by name: id, valid_from, price_per_gpu_hour, currency; and valid_to, gpu_type, partition, account, discount_pct where
// they are wanted. "*" or nothing: any. Rows with a discount_pct have no price, and name an account. Two rows that say different
// things of the same at the same time are refused. Errors are "file:line: reason".
Result<std::vector<Rate>> parse_rates(std::string_view text, std::string_view file);

// Columns by name: account, from, to, and gpu_hours, or money with currency. Two of one account may follow each other, not
// overlap.
Result<std::vector<Allocation>> parse_allocations(std::string_view text, std::string_view file);

// Each line carries the hash of all lines before it: one that was changed, removed or put between is refused, and named. What is
// behind the last line break was not written to its end, and is not read. Of a ledger that lost whole lines at its end nothing
// says so but its head, which who charges is told.
Result<Ledger> parse_ledger(std::string_view text, std::string_view file);
// The lines that `charges` add to a ledger with this head, which moves on; each ends with a line break.
std::string render_ledger_lines(const std::vector<Charge>& charges, Digest& head);

// "2.5", at most six decimals, as millionths; none: it is no such number, or it is below 0.
std::optional<std::int64_t> parse_micro(std::string_view text);
// "2.5", "12": no more decimals than are needed.
std::string render_micro(std::int64_t micro);

}  // namespace muster
