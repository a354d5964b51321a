// Search: from the lowest level up, the first group that holds the gang; inside it, the fewest leaves.
#pragma once
#include <optional>

#include "decide/place/fill.h"

namespace muster::decide::place {

std::optional<Choice> search(const Sight& sight, const Shape& shape);

// Whether search() would find something.
bool has_room(const Sight& sight, const Shape& shape);

}  // namespace muster::decide::place
