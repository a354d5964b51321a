// Execution traces of PyTorch (ExecutionTraceObserver, of schemas from 1.0.1 to those of Chakra), node by node.
#pragma once
#include <string_view>

#include "base/result.h"
#include "model/execution_trace.h"

namespace muster {

bool looks_like_execution_trace(std::string_view text);
// Errors begin with `file`. A file that ends in the middle is a trace with `cut` set.
Result<ExecutionTrace> parse_execution_trace(std::string_view text, std::string_view file);

}  // namespace muster
