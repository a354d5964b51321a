#include "adapters/slurm/reasons.h"

#include <algorithm>

#include "base/text.h"

namespace muster::slurm {
namespace {

constexpr std::string_view kKillFailed = "Kill task failed";
constexpr std::string_view kJoin = " : ";  // what comes later is added to what stands there: "bad fan : Not responding"

// As slurmctld, slurmd and slurmstepd of 22.05 to 26.05 write them, with # for each number.
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
    kKillFailed,
    "Kill task failed (JobId=# StepId=#)",
    "Kill task failed (JobId=# StepId=batch)",
    "Kill task failed (JobId=# StepId=extern)",
    "Kill task failed (JobId=# StepId=interactive)",
};
// Of a slurmd that came with less than the configuration says; several stand with commas between them.
constexpr std::string_view kLess[] = {
    "Low RealMemory",
    "Low RealMemory (reported:# < #% of configured:#)",
    "Low CPUs",
    "Low TmpDisk",
    "Low socket*core*thread count",
};
// What Slurm adds behind a reason as a reboot goes on. Alone they tell of a person's reboot.
constexpr std::string_view kOfReboots[] = {"reboot issued", "reboot complete", "reboot requested", "Reboot ASAP"};

template <class List>
bool in(const List& list, std::string_view word) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

std::string without_numbers(std::string_view text) {
  std::string out;
  bool number = false;
  for (const char c : text) {
    const bool digit = (c >= '0' && c <= '9') || (number && c == '.');
    if (!digit) out += c;
    if (digit && !number) out += '#';
    number = digit;
  }
  return out;
}

bool less(std::string_view word) {
  if (in(kLess, word)) return true;
  // Of whatever kind: "gres/gpu count reported lower than configured (# < #)".
  constexpr std::string_view kGres = "gres/", kCount = " count reported lower than configured (# < #)";
  if (!word.starts_with(kGres) || !word.ends_with(kCount)) return false;
  return word.substr(0, word.size() - kCount.size()).find(' ') == std::string_view::npos;
}

bool slurms_word(std::string_view piece) {
  const std::string plain = without_numbers(trim(piece));
  if (in(kWhole, plain)) return true;
  std::string_view rest = plain;
  for (;;) {
    const auto at = rest.find(", ");
    if (!less(rest.substr(0, at))) return false;
    if (at == std::string_view::npos) return true;
    rest.remove_prefix(at + 2);
  }
}

// What Muster says of a node, whichever of its incidents it was said for.
std::string_view sentence_of(std::string_view reason) {
  if (!reason.starts_with(kOwnReason)) return {};
  reason.remove_prefix(kOwnReason.size());
  constexpr std::string_view kIncident = "incident ";
  if (!reason.starts_with(kIncident)) return reason;
  const auto end = reason.find_first_not_of("0123456789", kIncident.size());
  const bool numbered = end != std::string_view::npos && end > kIncident.size() && reason.substr(end).starts_with(": ");
  return numbered ? reason.substr(end + 2) : reason;
}

// All that is behind Muster's own words.
bool added_by_slurm(std::string_view rest) {
  while (!rest.empty()) {
    if (!rest.starts_with(kJoin)) return false;
    rest.remove_prefix(kJoin.size());
    const auto at = rest.find(kJoin);
    const std::string_view piece = rest.substr(0, at);
    if (!slurms_word(piece) && !in(kOfReboots, trim(piece))) return false;
    rest.remove_prefix(piece.size());
  }
  return true;
}

}  // namespace

bool drained(const NodeRow& n) { return n.has("DRAIN") || n.has("DRAINED") || n.has("DRAINING"); }
bool down(const NodeRow& n) { return n.state.front() == "DOWN"; }
bool taken_out(const NodeRow& n) { return drained(n) || (down(n) && !n.reason.empty()); }
bool left_down(const NodeRow& n) { return down(n) && !n.has("NOT_RESPONDING"); }
bool by_muster(const NodeRow& n) { return n.reason.starts_with(kOwnReason); }

void Reasons::slurm_user(std::string name) {
  const std::lock_guard hold(lock_);
  slurm_user_ = name.substr(0, name.find('('));
}

bool Reasons::slurms(const NodeRow& n) const {
  {
    const std::lock_guard hold(lock_);
    if (n.reason_by != "root" && (slurm_user_.empty() || n.reason_by != slurm_user_)) return false;
  }
  std::string_view rest = n.reason;
  for (;;) {
    const auto at = rest.find(kJoin);
    if (!slurms_word(rest.substr(0, at))) return false;
    if (at == std::string_view::npos) return true;
    rest.remove_prefix(at + kJoin.size());
  }
}

void Reasons::wrote(NodeId n, std::string reason) {
  const std::lock_guard hold(lock_);
  all_[n].insert(std::string(sentence_of(trim(reason))));
}

bool Reasons::has(NodeId n, std::string_view reason) const {
  const std::lock_guard hold(lock_);
  const auto of = all_.find(n);
  const std::string_view said = sentence_of(reason);
  if (of == all_.end() || said.empty()) return false;
  return std::any_of(of->second.begin(), of->second.end(), [&](const std::string& own) {
    return !own.empty() && said.starts_with(own) && added_by_slurm(said.substr(own.size()));
  });
}

bool left_processes(const NodeRow& n) { return n.reason.find(kKillFailed) != std::string::npos; }

}  // namespace muster::slurm
