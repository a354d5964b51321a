// `ibnetdiscover` as evidence: reads what a damaged or half-answered discovery printed, and says what is odd about it.
#pragma once
#include <string_view>

#include "base/result.h"
#include "model/fabric_survey.h"

namespace muster {

// The same files as parse_ib_net takes, and those written for ibsim by hand ("Hca 2 \"h1\""). A cable that only one end tells of
// is there; one whose ends contradict each other is not. A line that cannot be read is an error unless it is the last and cut
// off.
Result<FabricSurvey> parse_ib_survey(std::string_view text, std::string_view file);

}  // namespace muster
