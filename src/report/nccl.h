// What NCCL's log, nccl-tests and Inspector say of a job's exchanges, in words and as JSON; what is wrong with them are findings.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "base/json_writer.h"
#include "diagnose/nccl_bandwidth.h"
#include "model/nccl_run.h"

namespace muster::report {

std::vector<std::string> say_nccl_log(const NcclLog& log);
// A table a run: size, time, bandwidth, what was expected. `wide`: all sizes, and not a part of many.
std::vector<std::string> say_nccl_runs(std::span<const diagnose::JudgedRun> runs, bool wide);
std::vector<std::string> say_nccl_inspector(const InspectorLog& log, std::span<const diagnose::JudgedSeries> series, bool wide);

// Each writes one value: an object for the log, arrays of objects for the others.
void write_nccl_log(JsonWriter& w, const NcclLog& log);
void write_nccl_runs(JsonWriter& w, std::span<const diagnose::JudgedRun> runs);
void write_nccl_inspector(JsonWriter& w, std::span<const diagnose::JudgedSeries> series);

}  // namespace muster::report
