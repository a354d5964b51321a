// What lists of cloud prices are known to get wrong, told row by row.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/rental.h"

namespace muster {

struct TrapSet {
  bool series = false;       // old rows are history
  bool by_instance = false;  // prices were a machine's
  bool keep_stale = false;
  double stale_days = 90;
  std::int64_t newest = 0;          // day of the file's newest row
  std::map<int, std::string> told;  // by line: what the list says of the machine's GPUs
};

// Once each.
void add_flag(RentalRow& row, PriceTrap trap);

// Rows that cannot be trusted are removed, others corrected or marked in their `flags`; each is named in `flags`. Returns how
// many were removed.
std::size_t set_traps(std::vector<RentalRow>& rows, const TrapSet& set, std::vector<PriceFlag>& flags);

}  // namespace muster
