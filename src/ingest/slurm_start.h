// How a job of Slurm got going: the times that muster-hook.sh leaves on each node, and what the daemons' own logs say of it.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace muster::slurm {

struct HookRun {
  std::string node;
  std::uint32_t restart = 0;  // 0: the job's first start
  bool epilog = false;
  Time began, ended;  // utc
  int status = 0;     // exit code
};
// Lines "JOB RESTART prolog|epilog BEGAN ENDED STATUS" of one node's file, times in seconds since 1970; those of other jobs, and
// what is no such line, are left out.
std::vector<HookRun> parse_hook_runs(std::string_view text, std::string_view job, const std::string& node);

enum class StartMark : std::uint8_t {
  allocated,  // slurmctld gave it nodes
  batch,      // slurmd began with its script
  step,       // slurmd began with its first step
};
struct LogMark {
  StartMark mark = StartMark::allocated;
  Time at;  // as the log has it: the host's local time, read as if it were utc
};
// Of slurmctld.log or slurmd.log at level info, in the order of the lines. Steps after the first are left out.
std::vector<LogMark> parse_start_log(std::string_view text, std::string_view job);

}  // namespace muster::slurm
