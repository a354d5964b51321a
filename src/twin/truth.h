// Truth: what each GPU of the twin really did, summed by the twin itself from what it makes its gangs and nodes do, in
// nanoseconds. The controller never sees it: it is what an account of the same time is held against. Nothing in the twin reads it
// either, so that a history with it is the history without it.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/time.h"

namespace muster::twin {

enum class Doing : std::uint8_t {
  down,             // its node does not run
  drained,          // held at the engine, and no gang on it
  idle_no_demand,   // free, and no gang that could begin waited for it
  idle_fragmented,  // free, while gangs that could begin waited for so many GPUs
  starting,         // launching, loading, building communicators
  checkpoint,       // steps stopped for writing one
  stalled,          // beyond the nominal step time
  lost,             // work that no checkpoint held when its attempt ended, and gangs that hung
  unsettled,        // since the last checkpoint of gangs that run
  useful,
};
constexpr std::array<std::string_view, 10> names(Doing) {
  return {"down",       "drained", "idle_no_demand", "idle_fragmented", "starting",
          "checkpoint", "stalled", "lost",           "unsettled",       "useful"};
}
constexpr std::size_t kDoings = names(Doing{}).size();

struct TruthSums {
  std::array<std::int64_t, kDoings> milli_ms{};  // thousandths of GPU-milliseconds, each rounded down
  std::int64_t installed = 0;                    // likewise
  bool exact = false;                            // unrounded, they sum to it
  std::int64_t operator[](Doing d) const { return milli_ms[static_cast<std::size_t>(d)]; }
};

class Truth {
 public:
  enum class Place : std::uint8_t { down, drained, free };

  Truth(std::uint32_t nodes, std::int64_t milli_per_node, Time now);

  // A node is so from now on, and gangs have so many thousandths of its GPUs.
  void node(NodeId n, Place place, std::int64_t had_milli, Time now);
  // A gang is there, and waits or does not; `after`: those that must complete first, or all members of those arrays.
  void arrived(JobId id, const std::vector<JobId>& after, std::int64_t wanted_milli, Time now);
  void queued(JobId id, bool waits, Time now);
  void gone(JobId id, bool completed, Time now);
  // An attempt has GPUs from now on.
  void began(JobId id, std::int64_t milli, Time now);
  // What it did since it was last told: all of it the same; `due_ns` of it was work, up to that point, and the rest a stall.
  void did(JobId id, Doing what, Time now);
  void worked(JobId id, std::int64_t due_ns, std::int64_t work_ns, Time now);
  // It is launched: what that took is settled.
  void launched(JobId id, Time now);
  // All work up to that point is safe.
  void safe(JobId id, std::int64_t work_ns);
  // The attempt is over: what is not safe is lost. What it did since it was last told: `what`.
  void ended(JobId id, Doing what, Time now);

  TruthSums sums(Time now) const;

 private:
  __extension__ using Wide = __int128;  // thousandths of GPU-nanoseconds: they do not fit into 64 bits
  using Amounts = std::array<Wide, kDoings>;
  struct Work {
    std::int64_t to_ns = 0;  // of the job's work
    std::int64_t took_ns = 0;
  };
  struct Run {
    std::int64_t milli = 0;
    Time since;
    std::array<std::int64_t, kDoings> open_ns{};  // since the last checkpoint
    std::deque<Work> work;                        // likewise
  };
  struct Spot {
    Place place = Place::free;
    std::int64_t free_milli = 0;
    Time since;
  };
  struct Waiter {
    std::int64_t milli = 0;
    std::set<JobId> blockers;
    bool hopeless = false, waits = false;
    bool counts() const { return waits && !hopeless && blockers.empty(); }
  };
  void pass(Time now);
  void leave(NodeId n, Time now);
  void count(const Waiter& w, std::int64_t sign) { waiting_ += w.counts() ? sign * w.milli : 0; }

  std::int64_t milli_per_node_;
  Time began_, passed_;
  Amounts all_{};
  std::vector<Spot> spots_;
  std::map<JobId, Run> runs_;
  std::map<JobId, Waiter> waiters_;
  std::set<JobId> failed_;
  std::int64_t free_ = 0, waiting_ = 0;
};

}  // namespace muster::twin
