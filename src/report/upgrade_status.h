// Upgrade status: how far a rolling upgrade is, what went bad and what it waits for; as JSON, and the same in words.
#pragma once
#include <string>

#include "base/value.h"
#include "model/state.h"

namespace muster::report {

std::string upgrade_json(const State& s);
std::string upgrade_words(const Value& upgrade);

}  // namespace muster::report
