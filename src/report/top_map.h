// The racks and nodes of the cluster as `muster top` shows them.
#pragma once
#include "report/top_text.h"

namespace muster::report::top {

// The racks in at most `most` lines, with a line that says how to read them; nothing where they do not fit.
Lines map_lines(const TopData& d, const TopView& v, std::size_t most);

// A row a node; `answer` is the map's.
Table node_table(const Value& answer, const TopView& v);

}  // namespace muster::report::top
