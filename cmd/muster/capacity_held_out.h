// The last weeks of a record held out: what was predicted of them, and what came.
#pragma once
#include <string>

#include "capacity_options.h"
#include "ingest/record_trace.h"
#include "trial/capacity.h"

namespace muster::cmd {

// "to 8", "9-64", "above 64"; for programs "le_8", "le_64", "any".
std::string class_name(const std::vector<trial::WaitTarget>& targets, std::size_t c);
std::string class_key(const std::vector<trial::WaitTarget>& targets, std::size_t c);
std::string targets_text(const std::vector<trial::WaitTarget>& targets);

// A class with fewer jobs than this in the held-out weeks says nothing.
constexpr std::uint64_t kHeldOutJobsMin = 50;
constexpr double kHeldOutPointsMax = 5;

int show_held_out(const trial::TraceWeeks& weeks, const trial::CapacitySpec& spec, const RecordedTrace& trace,
                  report::Format format, ProgressMode progress);

}  // namespace muster::cmd
