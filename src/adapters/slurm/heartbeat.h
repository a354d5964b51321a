// The heartbeat: a file whose age tells job_submit.lua and the release timer whether somebody places jobs. Its first line is the
// time in seconds since 1970, which is all they read; the second says whose it is.
#pragma once
#include <string>

#include "base/result.h"
#include "ingest/slurm_file.h"

namespace muster::slurm {

// What lies there is a heartbeat, or nothing: it is written over and removed.
Result<void> check_heartbeat(const Settings& s);
// No other Muster's heart beats there.
Result<void> check_alone(const Settings& s);
Result<void> write_heartbeat(const Settings& s);  // replaced whole, so that nobody reads half of it
void remove_heartbeat(const Settings& s);         // not another Muster's

}  // namespace muster::slurm
