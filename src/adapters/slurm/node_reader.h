// NodeReader: nodes and reservations, by slurmrestd where the site has one and it answers, by scontrol otherwise.
#pragma once
#include <mutex>
#include <string>
#include <vector>

#include "adapters/slurm/rest.h"
#include "adapters/slurm/tools.h"
#include "base/time.h"

namespace muster::slurm {

struct NodeLook {
  std::vector<NodeRow> nodes;
  std::vector<ReservationRow> reservations;
};

class NodeReader {
 public:
  // `tools` must outlive this.
  NodeReader(Tools& tools, RestSettings rest) : tools_(tools), rest_(std::move(rest)) {}

  // Both lists from the same source. One thread calls it. After slurmrestd failed it is left alone for a while, longer each time.
  Result<NodeLook> look(Time steady);

  // Why slurmrestd is not used although the site has one, and what to do; empty: it is used, or there is none. From any thread.
  std::string trouble() const;

 private:
  Result<NodeLook> by_rest();
  Result<NodeLook> by_tools();
  void say(std::string wrong);

  Tools& tools_;
  Rest rest_;
  Time again_;                // steady: when slurmrestd is asked again
  std::uint32_t failed_ = 0;  // times in a row
  mutable std::mutex lock_;
  std::string wrong_;  // under lock_
};

}  // namespace muster::slurm
