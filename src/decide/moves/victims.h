// The search behind preemption: of the gangs that may be stopped, the cheapest set whose leaving lets the tree place a gang.
// Other callers use choose_victims().
//
// Groups of the level that the gang must share are taken in the order of a lower bound on their loss, so a group is left out only
// when it cannot be better than what was found. In a group with few candidates every set is looked at (branch and bound); in
// others several greedy orders are tried, each cut down until nobody can be spared, then improved by exchanges.
#pragma once
#include <span>
#include <vector>

#include "decide/moves/clearing.h"
#include "decide/moves/preempt.h"

namespace muster::decide {

class VictimSearch {
 public:
  VictimSearch(Tree& tree, const Layout& layout, const PreemptAsk& ask, const PreemptRules& rules, const Quotas* quotas);

  struct Set {
    std::vector<const Gang*> gangs;  // in id order
    std::int64_t loss = 0;
    std::int64_t priorities = 0;
  };
  // `all` in id order.
  void run(const std::vector<Candidate>& all);
  bool found() const { return found_; }
  const Set& best() const { return best_; }
  bool exact() const { return exact_; }

 private:
  struct Group {
    std::uint32_t number = 0;
    std::vector<NodeId> nodes;
    std::vector<Candidate> candidates;
    std::int64_t need = 0;   // GPUs that must come free at least
    std::int64_t bound = 0;  // no set in the group loses less
    bool possible = true;
  };

  std::vector<Group> groups(const std::vector<Candidate>& all) const;
  void set_bound(Group& g) const;
  void stop(const Gang& g);
  void resume(const Gang& g);
  bool fits();  // the gang, in the tree and under the quotas as they are now
  // Whether each was beyond its queue's guarantee when its turn came, smallest first. All of them are stopped.
  bool legal(const Set& s);
  void consider(std::span<const Candidate> chosen);
  bool beaten(std::int64_t loss, std::size_t gangs) const;

  void look_into_groups(const std::vector<Candidate>& all);
  void look(const Group& g);
  bool branch(std::span<const Candidate> c, std::vector<Candidate>& chosen, std::int64_t loss);
  // Stops them in this order until the gang fits; the cheapest set so far goes to `least`.
  void greedy(const Group& g, const std::vector<Candidate>& order, std::vector<Candidate>& least);
  void improve(const Group& g, std::vector<Candidate> chosen);
  void spare(std::vector<Candidate>& chosen);
  bool exchange(const Group& g, std::vector<Candidate>& chosen);

  Tree& tree_;  // as it was found, whenever run() is not at work
  const Layout& layout_;
  const PreemptAsk& ask_;
  const PreemptRules& rules_;
  std::vector<Quotas> quotas_;  // a copy to try things on; empty: none
  Level level_ = Level::core;
  std::uint32_t tries_left_ = 0;
  bool found_ = false;
  bool exact_ = true;
  Set best_;
};

}  // namespace muster::decide
