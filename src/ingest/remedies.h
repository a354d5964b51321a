// How facts are brought to another value: data/fleet/remedies.csv.
#pragma once
#include "model/remedy.h"

namespace muster {

// As it ships.
const RemedyBook& remedy_book();

}  // namespace muster
