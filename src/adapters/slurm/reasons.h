// What Slurm takes out of service by itself, told from what a person did: by the words it writes as a node's reason.
#pragma once
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "ingest/slurm_text.h"

namespace muster::slurm {

// What Muster's own drains begin with.
constexpr std::string_view kOwnReason = "muster: ";

bool drained(const NodeRow& n);
bool down(const NodeRow& n);
// By somebody: to set a node down or to drain it, Slurm asks for a reason.
bool taken_out(const NodeRow& n);
// Down, with a slurmd that answers: Slurm waits for somebody to resume it.
bool left_down(const NodeRow& n);
bool by_muster(const NodeRow& n);  // by some Muster, as far as its first word says

// Whose a node's reason is. From any thread.
class Reasons {
 public:
  void slurm_user(std::string name);  // SlurmUser as the configuration shows it, "slurm(64030)"
  // Every word of it is Slurm's own, and stands there in SlurmUser's name or root's, under which slurmctld and slurmd write.
  bool slurms(const NodeRow& n) const;

  // Muster gives the node this reason. One to which a person has added a word is a person's.
  void wrote(NodeId n, std::string reason);
  // It is one of them, with nothing behind it but what Slurm adds by itself.
  bool has(NodeId n, std::string_view reason) const;

 private:
  mutable std::mutex lock_;
  std::string slurm_user_;
  std::map<NodeId, std::set<std::string, std::less<>>> all_;
};

// Slurm could not end what a job had left running there.
bool left_processes(const NodeRow& n);

}  // namespace muster::slurm
