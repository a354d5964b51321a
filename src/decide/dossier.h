// Dossier: what whoever repairs a node needs to know, as text: which part, by serial number; what was seen; what was tried and
// what came of it; what it did before.
#pragma once
#include <string>

#include "model/state.h"

namespace muster::decide {

std::string dossier(const State& s, const Incident& i);

}  // namespace muster::decide
