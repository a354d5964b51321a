// Asks the tools of a running Muster, or the same tools over a journal's file, for all that the weekly report tells.
#pragma once
#include <functional>
#include <string>

#include "base/result.h"
#include "base/value.h"
#include "options.h"
#include "report/weekly.h"

namespace muster::cmd {

// Puts JSON to the tool of that name.
using AskTool = std::function<Result<Value>(const std::string& tool, const std::string& input)>;

// `progress` is told how much is done, from 0 to 1. `simulation`: what the server says of itself.
Result<report::Weekly> gather_weekly(const ReportOptions& options, const AskTool& ask, const std::string& simulation,
                                     const std::function<void(double)>& progress);

// Of an audit's chain: runs of `muster twin run` say by their name that no cluster stands behind them.
bool is_twin(const Value& chain);

// The stretch from `from` to `to` in pieces that a person reads as days, hours or weeks, the last ones whole.
struct Cut {
  Time from, to;
};
std::vector<Cut> cut_stretch(Time from, Time to);

}  // namespace muster::cmd
