// What came of a what-if, in sentences and as JSON.
#pragma once
#include <string>
#include <vector>

#include "trial/what_if.h"

namespace muster::trial {

// "With 8 more nodes: goodput rises by 1.20 points (0.40 to 2.00), ...", then what could not be shown, and what it costs.
std::vector<std::string> sentences_of(const WhatIfPlan& plan, const CompareReport& report);

// The members of the answer, to stand between braces; docs/api.md has them.
std::string answer_members(const WhatIf& ask, const WhatIfPlan& plan, const CompareReport& report, const State& from);

}  // namespace muster::trial
