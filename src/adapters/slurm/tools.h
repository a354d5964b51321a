// Tools: Slurm's command line programs, as typed calls. Each is bounded; an answer that is cut off is an error, not a small
// answer.
#pragma once
#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "adapters/slurm/command.h"
#include "ingest/slurm_sacct.h"
#include "ingest/slurm_text.h"

namespace muster::slurm {

// The slurm.conf that the settings name can be read; without a name, Slurm's tools find it by themselves.
Result<void> check_conf(const std::string& conf);

class Tools {
 public:
  // `folder`: where the programs are; empty: as PATH says.
  explicit Tools(std::string conf, std::string folder = {}) : conf_(std::move(conf)), folder_(std::move(folder)) {}

  Result<std::vector<JobRow>> jobs();
  // One job: then slurmctld does not send all of them, as it would for a list. Empty: Slurm does not know it.
  Result<std::vector<JobRow>> job_row(JobId id);
  Result<std::vector<NodeRow>> nodes();
  Result<std::vector<NodeRow>> node(const std::string& name);
  Result<std::vector<PartitionRow>> partitions();
  Result<std::vector<ReservationRow>> reservations();
  Result<std::vector<SwitchRow>> topology();
  Result<std::map<std::string, std::string>> config();
  // Jobs that ended since `from` (utc), by Slurm's accounting. Refused: this Slurm keeps none.
  Result<std::vector<JobRow>> history(Time from);
  // A line of `scontrol -d -o show job`; empty: Slurm does not know it.
  Result<std::string> job(const std::string& id);

  // scontrol with these words. Refused: Slurm said no, and why. Unreachable: nobody answered, so surely nothing was done. Unknown
  // what became of it: Code::internal.
  Result<void> scontrol(std::vector<std::string> words);
  Result<void> scancel(const std::string& id);

  double cpu_s() const { return cpu_us_ / 1e6; }  // of all calls so far

 private:
  Result<Ran> call(std::vector<std::string> argv, int timeout_ms);
  Result<std::string> text_of(std::vector<std::string> argv, int timeout_ms);
  bool exclusive_apart();

  std::string conf_;
  std::string folder_;
  std::atomic<std::uint64_t> cpu_us_{0};
  std::atomic<int> exclusive_apart_{0};  // 0: not asked yet
};

}  // namespace muster::slurm
