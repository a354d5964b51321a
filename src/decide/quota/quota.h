// Quotas: who may start what now, who is next, and who must give back. Queues form a tree (accounts within departments within the
// cluster); each may have a guarantee, a limit and a weight.
//
// The borrowing rules, which hold after every take() that may_start() allowed:
//   1. no queue uses more than its limit, and all together no more than the capacity;
//   2. a queue that may not borrow uses no more than its guarantee;
//   3. what a queue that does not lend leaves of its guarantee is counted as used, against its parents and the cluster.
// A guarantee can always be had back: see must_give().
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/policy.h"
#include "model/usage.h"

namespace muster::decide {

using QueueIndex = std::uint32_t;
constexpr QueueIndex kRootQueue = 0;  // the cluster itself; holds what belongs to no queue

// What there is to share. Models are those that Resource::first_model and second_model stand for; empty: not told apart.
struct Pool {
  Amounts capacity{};
  std::string first_model;
  std::string second_model;
};

// Whether the queues make sense: names, parents, no circle, guarantees within the limits and the parents' guarantees.
Result<void> check_queues(std::span<const QueueSpec> specs);

struct QuotaVerdict {
  bool ok = false;
  bool borrowed = false;  // beyond the guarantee: may be reclaimed later
  bool reclaim = false;   // not ok, yet within the guarantee: others must give back, see must_give()
  std::string why;        // in words, e.g. "beyond the limit of physics: 60 of 64 GPUs in use, 8 asked"
};

class Quotas {
 public:
  // Specs must have passed check_queues(). Queue i of `specs` has index i + 1.
  Quotas(std::span<const QueueSpec> specs, const Pool& pool);

  // By name (a job's account); the root when there is none of that name.
  QueueIndex find(std::string_view name) const;
  std::uint32_t size() const { return static_cast<std::uint32_t>(queues_.size()); }  // with the root
  const std::string& name(QueueIndex q) const { return queues_[q].name; }
  // The models told apart; empty: none.
  const std::string& model(std::size_t k) const { return models_[k]; }
  QueueIndex parent(QueueIndex q) const { return queues_[q].parent; }
  // What a job of so many GPUs of this model (any of them, 1000 thousandths each) and power asks for.
  Amounts ask(std::uint32_t milli_gpus, std::string_view model = {}, std::int64_t power_w = 0) const;

  QuotaVerdict may_start(QueueIndex q, const Amounts& ask) const;
  // The same without words, for searches.
  bool allows(QueueIndex q, const Amounts& ask) const;
  // The same on a cluster with room for everybody: only limits and guarantees of queues bind.
  bool allows_but_for_room(QueueIndex q, const Amounts& ask) const;
  // Whether the queue's own jobs would stay within its guarantee; never where nothing asked for is guaranteed to anybody.
  bool within_guarantee(QueueIndex q, const Amounts& ask) const;
  // Where the ask alone is more than its queue, or one above it, may ever have: in words. Empty: it is not.
  std::string never(QueueIndex q, const Amounts& ask) const;
  // The most a queue may ever have, by its own limit or, where it may not borrow, its guarantee; nothing: no such bound.
  std::optional<std::int64_t> bound(QueueIndex q, Resource r) const;
  // Part of the cluster that is due to it by its weight against its siblings, of what is due to its parent.
  double due(QueueIndex q) const;
  // Part of the cluster it has used: of all resources the greatest, half by what is held now and half by the mean of the past.
  double used(QueueIndex q) const { return share(q) * queues_[q].weight; }
  // Mean of the past, in thousandths of GPUs.
  double past_gpus(QueueIndex q) const { return queues_[q].past[static_cast<std::size_t>(Resource::gpus)]; }
  // Whether anything asked for is guaranteed to anybody; where not, nothing is borrowed.
  bool guarded(const Amounts& ask) const;
  void take(QueueIndex q, const Amounts& a);
  void give(QueueIndex q, const Amounts& a);
  const Amounts& in_use(QueueIndex q) const { return queues_[q].use; }  // with all queues below it

  // Whether work of queue `from` may be stopped for `asker`, whose `ask` is within its guarantee: below their lowest common
  // parent, every queue from `from` upwards uses more than its guarantee of something that is asked for.
  //
  // As long as such an ask is not allowed, some queue with jobs must give. Proof, for a resource that is short: going up from the
  // asker, let p be the first queue at which what is used and asked exceeds p's guarantee (at the root: the capacity). There is
  // one, since limits are no smaller than guarantees. Both are at least the sum of the guarantees below p (check_queues), and
  // the child of p towards the asker is within its own, ask included; so another child of p, or p's own jobs, exceed theirs; and
  // from such a child the same sum leads down to jobs that do.
  bool must_give(QueueIndex from, QueueIndex asker, const Amounts& ask) const;
  // All queues whose own jobs must give, the lowest in the order of service (the highest share) first.
  std::vector<QueueIndex> givers(QueueIndex asker, const Amounts& ask) const;

  // Past use, by queue index, of the queue with all below it; a half-life of 0: only what is held now counts.
  void set_past(std::span<const Usage> past, Duration half_life);
  // Dominant share over weight: of all resources the greatest part of the capacity, half of it by what is held now and half by
  // the mean of the past. What is held now must count: or the queue that is behind would get all that comes free until its past
  // has grown.
  double share(QueueIndex q) const;
  // Queues in the order in which they are served: at each level the sibling with the lowest share first, ties by index.
  std::vector<QueueIndex> order() const;
  // Place of each queue in that order, by queue index, in [0, 1): lower first.
  std::vector<double> factors() const;

 private:
  struct Queue {
    std::string name;
    QueueIndex parent = kRootQueue;
    std::vector<QueueIndex> children;
    double weight = 1;
    Amounts guaranteed{};
    Amounts limit{};           // kNoLimit: none
    Amounts own_guaranteed{};  // what the children's guarantees leave to the queue's own jobs
    std::array<bool, kResources> bound{};  // may not borrow of it
    bool lend = true;
    Amounts own{};     // of its own jobs
    Amounts use{};     // with all below
    Amounts charge{};  // the same, with what those below keep to themselves
    std::array<double, kResources> past{};
  };

  Amounts kept(QueueIndex q) const;  // what it counts for in its parent
  // The first queue from q upwards that the ask would take beyond what it may have, and of which resource.
  struct Block {
    QueueIndex queue = kRootQueue;
    std::size_t resource = 0;
    bool found = false;
  };
  Block blocked(QueueIndex q, const Amounts& ask) const;
  std::int64_t most(QueueIndex q, std::size_t r) const;
  std::string words(const Block& b, const Amounts& ask) const;
  std::string unit(std::size_t r) const;
  double share_of(const Amounts& use, const std::array<double, kResources>& past, double weight) const;
  void serve(QueueIndex q, std::vector<QueueIndex>& out) const;

  std::vector<Queue> queues_;
  std::vector<QueueIndex> by_name_;  // all but the root
  Amounts capacity_{};
  std::string models_[2];
  std::array<bool, kResources> governed_{};  // some queue has a guarantee of it: all else of it is borrowed
  bool has_past_ = false;
};

}  // namespace muster::decide
