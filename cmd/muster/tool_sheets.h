// What each tool may be asked and what it answers: one table, by which questions are checked and the API describes itself.
#pragma once
#include <string_view>

#include "base/result.h"
#include "base/value.h"
#include "ports/tool.h"

namespace muster::cmd {

// Empty for a tool that the table does not know.
ToolSheet sheet_of(std::string_view tool);

// Whether a question is an object that has no member but those of the tool's sheet, each of the kind that is said there: a slip
// of the pen must not go unnoticed. Null, and an empty text, are as if nothing was said.
Result<void> check_question(const Value& input, std::string_view tool);

}  // namespace muster::cmd
