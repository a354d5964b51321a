// Records of an accounting database as a job trace: those that ran, each with what it waited.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "model/job_record.h"
#include "model/job_trace.h"

namespace muster {

struct RecordedTrace {
  JobTrace trace;
  std::vector<std::optional<Duration>> waits;  // of the same jobs: from when it could start to when it did; empty: not known
  std::uint64_t unfinished = 0;                // left out: still running or waiting
  std::uint64_t repeated = 0;                  // left out: the same run again, as where two exports overlap
  std::uint64_t sooner = 0;                    // left out: it ends before it begins
};

// A share of a GPU counts as one. A job that may not start before a time is taken as submitted then.
RecordedTrace trace_of(std::span<const JobRecord> records);

}  // namespace muster
