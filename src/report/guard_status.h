// Guard status: how much of each limit is used, what is frozen and what waits for whom; as JSON, and the same in words.
#pragma once
#include <string>

#include "base/value.h"
#include "model/state.h"

namespace muster::report {

std::string guard_json(const State& s);
std::string guard_words(const Value& guard);

}  // namespace muster::report
