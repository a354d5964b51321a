// The words people read for what goes wrong.
#pragma once
#include <string_view>

#include "model/finding.h"

namespace muster::decide {

// "a lost GPU": fits into "... on node17".
std::string_view say(FindingKind k);

}  // namespace muster::decide
