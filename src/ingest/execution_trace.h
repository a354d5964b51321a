// Execution traces, node by node: of PyTorch (ExecutionTraceObserver, schemas from 1.0.1 on), and Chakra's nodes as JSON, in a
// list or one behind the other as chakra_jsonizer writes them.
#pragma once
#include <string_view>

#include "base/result.h"
#include "model/execution_trace.h"

namespace muster {

bool looks_like_execution_trace(std::string_view text);
// Errors begin with `file`; one of whose nodes nothing was understood is one. A file that ends in the middle is a trace with
// `cut` set.
Result<ExecutionTrace> parse_execution_trace(std::string_view text, std::string_view file);

}  // namespace muster
