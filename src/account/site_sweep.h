// One node over time: who had its GPUs, what was out of service, what they were measured to do.
#pragma once
#include "account/site_claims.h"
#include "account/site_idle.h"

namespace muster::account {

class NodeSweep {
 public:
  NodeSweep(const SiteRuns& runs, const Claims& claims, SiteAccount& out, IdleTime& idle);

  struct Told {  // of this node; may be null
    std::vector<const NodeOutage*> outages;
    const NodeActivity* activity = nullptr;
  };
  // Its classes go into the sums, the day's, the type's and the runs'; idle time to `idle`.
  void sweep(const ClaimedNode& node, std::int64_t capacity, std::uint32_t type, const Told& told);
  // The most GPUs that runs had of it at once.
  std::int64_t most(const ClaimedNode& node);

 private:
  enum class What : std::uint8_t { end, begin, up, down, undrained, drained, unmeasured, measured };
  struct Edge {
    std::int64_t ms = 0;
    std::uint32_t which = 0;
    What what = What::end;
  };
  struct Had {
    std::int64_t milli = 0;
    std::uint32_t run = 0;
  };
  void edges_of(const ClaimedNode& node, const Told& told);
  void turn(const Edge& e, const Told& told);
  void enter(std::uint32_t claim);
  void spend(std::int64_t from_ms, std::int64_t to_ms);
  std::int64_t hand_out(std::int64_t length);
  void measure(std::int64_t used, std::int64_t from_ms, std::int64_t to_ms);
  void add(SiteClass c, std::int64_t milli, std::int64_t from_ms, std::int64_t to_ms);
  void set_idle(std::int64_t ms, std::int64_t milli);
  void note_once(SiteFault f, std::uint32_t run, std::int64_t milli_ms);

  const SiteRuns& runs_;
  const Claims& claims_;
  SiteAccount& out_;
  IdleTime& idle_;
  std::vector<std::uint8_t> noted_;  // by run: faults of nodes that were counted for it
  std::vector<DayCursor> days_;      // by class

  // Of the node that is looked at:
  std::vector<Edge> edges_;
  std::vector<std::uint32_t> active_;  // claims: first those that come first where there are too few GPUs
  std::vector<Had> had_;
  const ClaimedNode* node_ = nullptr;
  const ActivitySlice* slice_ = nullptr;
  std::int64_t capacity_ = 0, idle_now_ = 0;
  std::uint32_t type_ = 0;
  int down_ = 0, drained_ = 0, unsaid_ = 0;
};

}  // namespace muster::account
