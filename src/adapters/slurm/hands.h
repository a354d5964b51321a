// Hands: an order as commands of Slurm and programs of the site. State is read back after every change.
#pragma once
#include <chrono>
#include <string>

#include "adapters/slurm/reasons.h"
#include "adapters/slurm/picture.h"
#include "adapters/slurm/tools.h"
#include "ingest/slurm_file.h"
#include "model/action.h"
#include "model/site.h"

namespace muster::slurm {

// What stands as a node's reason in Slurm while the incident's order holds.
std::string reason_text(IncidentId incident, std::string_view sentence);

struct Outcome {
  Status status = Status::done;  // pending: the looks at Slurm will tell
  std::string detail;
};

class Hands {
 public:
  // `site` must outlive this.
  Hands(Tools& tools, const Settings& settings, const Site& site, Reasons& reasons)
      : tools_(tools), settings_(settings), site_(site), reasons_(reasons) {}

  // Blocks, for seconds or, where a program of the site repairs or tests, for minutes. From any thread.
  Outcome act(const Order& o, bool gated);
  // What became of an order that an earlier Muster sent: from what Slurm shows and what is in the spool.
  Outcome look_back(const Order& o, const std::vector<JobRow>& jobs);

  // Behind the gate again, without nodes: a start that Slurm did not carry out, a job put back into the queue.
  Result<void> gate_again(JobId id);
  // Slurm places it from now on; `why` is for its admin comment. Nodes that it asks for are its owner's wish and stay.
  Result<void> hand_over(JobId id, const std::string& why);
  // And it starts when its owner said.
  Result<void> leave_start(JobId id, const std::string& why);

 private:
  std::string write_reason(const Order& o);
  Outcome drain(const Order& o);
  Outcome undrain(const Order& o);
  Outcome reboot(const Order& o);
  Outcome start_waiting(const Order& o);
  Outcome start(const Order& o);
  Outcome restart(const Order& o);
  void wait_until_gone(const std::string& id, std::chrono::steady_clock::time_point until);
  bool put_off(const std::string& id);
  Outcome requeue(const Order& o, bool gated);
  Outcome program(const Order& o);
  Outcome result_of(const std::string& key) const;  // pending: still at work
  std::string nodes_of(const Action& a) const;
  Result<NodeRow> read_node(NodeId n);

  Tools& tools_;
  const Settings& settings_;
  const Site& site_;
  Reasons& reasons_;
};

}  // namespace muster::slurm
