// Certificate: said in plain words, and checked against the cluster by somebody who trusts nothing of the search.
#pragma once
#include <string>
#include <string_view>

#include "decide/place/shape.h"
#include "decide/place/tree.h"

namespace muster::decide {

std::string_view name(Level level);

// "8 pieces within leaf 3, on 1 leaf. No node takes more than 1. 1 leaf is the least possible in leaf 3 at that moment, and on an
// empty cluster too." `group_name` stands for the group where the site has a name for it, e.g. "leaf a-07".
std::string explain(const Certificate& certificate, const Shape& shape, std::string_view group_name = {});

// Whether the choice is a right one for this occupancy (before it is taken) and every word of its certificate is true. Shares no
// code with the search: it tries each lower group, each home for a short segment and each set of leaves. Sets of leaves are tried
// one by one where a group has at most 16 leaves with room; above that the largest leaves are added up.
bool certificate_holds(const Layout& layout, const Occupancy& occupancy, const Shape& shape, const Choice& choice,
                       std::string* why_not = nullptr);

// Whether any choice at all would honour the shape: the other half of the check, for when nothing was found.
bool any_choice_exists(const Layout& layout, const Occupancy& occupancy, const Shape& shape);

}  // namespace muster::decide
