// Jobs and their nodes, as people write them down, as squeue prints them, and as a running Muster tells.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "client.h"
#include "fleet/upgrade_exposure.h"
#include "model/site.h"

namespace muster::cmd {

struct JobLine {
  int line = 0;
  std::vector<std::string> nodes;
};
// Node lists, one job a line; what stands before a colon is the job's name. Empty lines and those with # in front are none.
Result<std::vector<JobLine>> read_job_lines(const std::string& text, const std::string& file);

struct JobsNow {
  std::vector<fleet::JobNow> jobs;
  bool tells_waiting = true;
};
// A file of job lines, or what `squeue --json` prints; a node that the cluster does not have is an error in the former.
Result<JobsNow> jobs_of_file(const std::string& file, const Site& site);
Result<JobsNow> jobs_of_muster(const Client& client, const Site& site);

}  // namespace muster::cmd
