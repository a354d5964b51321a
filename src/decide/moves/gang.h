// Gang: a running job as preemption, repair and defragmentation see it, and the few sums they share. Filled by the caller from
// whatever it keeps; nothing here looks at a state.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "decide/place/tree.h"
#include "decide/quota/quota.h"

namespace muster::decide {

struct Gang {
  JobId id;
  QueueIndex queue = kRootQueue;
  std::int32_t priority = 0;         // higher runs first
  Shape shape;                       // as asked
  std::vector<NodeId> nodes;         // held, in node order
  std::vector<std::uint16_t> slots;  // GPUs on each, as a bit mask
  double since_checkpoint_s = 0;     // work that a stop would lose
  double restart_s = 0;              // from the stop to the first step after it: as measured on its own starts
  double running_s = 0;              // of this attempt
  double remaining_s = 0;            // expected
  Amounts use{};                     // what it counts for in its queue

  // GPUs it holds, in thousandths.
  std::uint64_t milli_gpus() const;
  // GPU-milliseconds that a stop costs: work done again, and the start. An integer, so that sums do not depend on their order.
  std::int64_t loss_gpu_ms() const;
};

void take(Tree& tree, const Gang& g);
void give(Tree& tree, const Gang& g);
// Leaves that these nodes lie in.
std::uint32_t leaves_of(const Layout& layout, const std::vector<NodeId>& nodes);
// Number of a node's group at a level.
std::uint32_t group_of(const Layout& layout, NodeId n, Level level);
// "leaf": fits into "within one ...".
std::string_view say(Level level);

}  // namespace muster::decide
