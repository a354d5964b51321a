// From a line of a job's log to what the detectors look at.
#pragma once
#include <optional>

#include "ingest/train_log.h"
#include "model/sample.h"
#include "model/site.h"

namespace muster {

// Nothing for lines that only follow from another failure (flushed transfers, closed sockets) or that mean no failure.
std::optional<JobLogRecord> job_log_record(const TrainEvent& e, JobId job, Time at, const Site& site);

}  // namespace muster
