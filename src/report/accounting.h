// Where the nanoseconds of ranks' GPUs went, as JSON and as a table.
#pragma once
#include <span>
#include <string>

#include "diagnose/accounting.h"
#include "report/table.h"

namespace muster::report {

struct AccountedTrace {
  std::string file;
  Trace trace;
};

// By rank, with every figure in whole nanoseconds: all events, and those before the last step.
std::string accounting_json(std::span<const AccountedTrace> traces);
Table accounting_table(std::span<const AccountedTrace> traces);

}  // namespace muster::report
