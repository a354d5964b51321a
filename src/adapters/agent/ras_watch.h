// RasWatch: asks NCCL's own watch (RAS), which every process of a job with NCCL 2.24 or later keeps on a port of its node, which
// ranks do not answer or stay behind: minutes before the job's own timeout.
#pragma once
#include <map>
#include <set>
#include <string>

#include "ingest/nccl_ras.h"

namespace muster::agent {

class RasWatch {
 public:
  // `root` is "" or, in tests, a folder that stands for /.
  explicit RasWatch(std::string address, std::string root = "") : address_(std::move(address)), root_(std::move(root)) {}
  // Lines as of JobLogs::ask; empty where no job answers.
  std::string ask();
  // The same for a report, for tests.
  std::string judge(const RasReport& report);

 private:
  std::string address_, root_;
  std::map<std::string, std::int64_t> seen_;  // at the last look: who, and how far they had come
  std::set<std::string> said_;                // told already, and still so
  bool odd_ = false;                          // what answers is not NCCL's watch, and that was told
};

// The Slurm job that has processes on this machine, by their control groups; empty where there is none, or several.
std::string only_job_here(const std::string& root);

}  // namespace muster::agent
