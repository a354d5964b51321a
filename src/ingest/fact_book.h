// The facts that have a meaning: data/fleet/facts.csv.
#pragma once
#include "model/fact_table.h"

namespace muster {

// As it ships.
const FactBook& fact_book();

}  // namespace muster
