// DCGM's fields (data/dcgm_fields.csv): release 4.6 renamed 328 of them, their ids stayed. What is read by name is found by
// either.
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace muster {

struct DcgmField {
  int id = 0;
  std::string name;    // since DCGM 4.6
  std::string former;  // before it; empty: the same
};

std::span<const DcgmField> dcgm_fields();  // by id
// By either name (case does not matter) or by number. nullptr: unknown.
const DcgmField* find_dcgm_field(std::string_view name_or_id);

}  // namespace muster
