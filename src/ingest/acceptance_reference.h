// data/accept/reference.csv: what healthy GPUs of a model gave, while a site has too few of its own to know better.
#pragma once
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/acceptance.h"

namespace muster {

// Rows of the suite `suite`; those of others are left out.
Result<std::vector<AcceptReference>> parse_acceptance_references(std::string_view csv, std::string_view suite,
                                                                 std::string_view where = "reference.csv");
std::vector<AcceptReference> shipped_acceptance_references(std::string_view suite);

}  // namespace muster
