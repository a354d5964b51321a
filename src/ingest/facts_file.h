// Facts of nodes as lines of JSON, one a node: docs/formats/facts.md.
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/fact_table.h"

namespace muster {

// Adds to the table what the file says; several files and lines may speak of the same node. An error names file and line, and
// then nothing of the file is in the table. A last line of several that lacks its end and is no JSON is left out, since whoever
// wrote it was killed: the result names it, FILE:LINE, else it is empty.
Result<std::string> read_facts(std::string_view text, const std::string& file, FactTable& into);
// With its line end.
std::string render_facts(const FactTable& table, std::size_t node);

}  // namespace muster
