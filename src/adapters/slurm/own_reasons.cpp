#include "adapters/slurm/own_reasons.h"

#include <algorithm>

#include "base/text.h"

namespace muster::slurm {
namespace {

constexpr std::string_view kKillFailed = "Kill task failed";  // 24.05 and later name the job after it

// As slurmctld, slurmd and slurmstepd of 22.05 to 26.05 write them.
constexpr std::string_view kWhole[] = {
    "Prolog error",
    "Epilog error",
    "Prolog/Epilog failure",
    "Job env setup error",
    "Duplicate jobid",
    "batch job complete failure",
    "Bad core count",
    "SlurmdSpoolDir is full",
    "switch_g_job_postfini failed",
    "Not responding",
    "Node unexpectedly rebooted",
    "ResumeTimeout reached",
    "reboot timed out",
};
// Of a slurmd that came with less than the configuration says: numbers follow, or further ones after a comma.
constexpr std::string_view kBegins[] = {kKillFailed, "Job step not running (JobId=", "Low RealMemory",
                                        "Low CPUs",  "Low TmpDisk",                  "Low socket*core*thread count"};

bool slurms(std::string_view piece) {
  if (std::find(std::begin(kWhole), std::end(kWhole), piece) != std::end(kWhole)) return true;
  if (piece.starts_with("gres/")) return piece.find(" count reported lower than configured (") != std::string_view::npos;
  return std::any_of(std::begin(kBegins), std::end(kBegins), [&](std::string_view b) { return piece.starts_with(b); });
}

}  // namespace

bool drained(const NodeRow& n) { return n.has("DRAIN") || n.has("DRAINED") || n.has("DRAINING"); }
bool down(const NodeRow& n) { return n.state.front() == "DOWN"; }
bool taken_out(const NodeRow& n) { return drained(n) || (down(n) && !n.reason.empty()); }
bool left_down(const NodeRow& n) { return down(n) && !n.has("NOT_RESPONDING"); }
bool by_muster(const NodeRow& n) { return n.reason.starts_with(kOwnReason); }

bool by_slurm_itself(const NodeRow& n, std::string_view slurm_user) {
  const std::string_view name = slurm_user.substr(0, slurm_user.find('('));
  if (n.reason_by != "root" && (name.empty() || n.reason_by != name)) return false;
  // What comes later is added to what stands there, a person's words too: "bad fan : Not responding".
  constexpr std::string_view kJoin = " : ";
  std::string_view rest = n.reason;
  for (;;) {
    const auto at = rest.find(kJoin);
    if (!slurms(trim(rest.substr(0, at)))) return false;
    if (at == std::string_view::npos) return true;
    rest.remove_prefix(at + kJoin.size());
  }
}

bool left_processes(const NodeRow& n) { return n.reason.find(kKillFailed) != std::string::npos; }

}  // namespace muster::slurm
