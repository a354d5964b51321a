// Which values of a column say the same, and which say nothing: 580.95.05-1 is the version 580.95.05 in a package, "N/A" is what
// programs write where they do not know.
#pragma once
#include <vector>

#include "model/fact_table.h"

namespace muster::fleet {

// By code: the code that stands for all that count as the same value. kFactUnknown for texts that say nothing. Numbers that lie
// together are the same where numbers are measured, versions where they compare as equal; meaning may be null.
std::vector<FactCode> same_as(const FactColumn& column, const FactMeaning* meaning);

}  // namespace muster::fleet
