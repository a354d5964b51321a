// Claims about GPU clusters, as a table.
#pragma once
#include <span>

#include "design/claims.h"
#include "report/table.h"

namespace muster::report {

Table claims_table(std::span<const design::Claim> claims);

}  // namespace muster::report
