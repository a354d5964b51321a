// Checker: the invariants of a run, kept by books of its own so that a defect in the state cannot hide itself.
#pragma once
#include <array>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "decide/place/tree.h"
#include "model/accounts.h"
#include "model/state.h"

namespace muster::trial {

// What is held to, for counting; a violation's words say the rest.
enum class Rule : std::uint8_t { budget, live_job, untested, unfinished, evidence, placement, books, orders };
constexpr std::size_t kRules = 8;
constexpr std::array<std::string_view, kRules> names(Rule) {
  return {"budget", "live_job", "untested", "unfinished", "evidence", "placement", "books", "orders"};
}
using RuleCounts = std::array<std::uint64_t, kRules>;
// "resets under a live job": for a sentence that begins with their number.
std::string_view words_of(Rule r);

class Checker {
 public:
  // `policy` is what must hold, whatever the controller was told.
  Checker(const Site& site, Policy policy);
  // Every event, in order, after it was folded into `s`.
  void on_event(const Event& e, const State& s);
  // Once in a while and at the end.
  void on_books(const Accounts& a, const State& s);
  const std::vector<std::string>& violations() const { return violations_; }  // the first ones
  const RuleCounts& broken() const { return broken_; }                        // all of them

 private:
  void violation(const Event& e, Rule rule, std::string what);
  void on_order(const Event& e, const Order& o, const State& s);
  void on_start(const Event& e, const Order& o, const State& s);
  void hold(const Event& e, JobId job, const std::vector<NodeId>& nodes, const std::vector<std::uint16_t>& slots, const State& s);
  void leave(JobId job);
  void keep_certificate(const Event& e, const OrderIntended& o, const State& s);
  void check_certificates();
  void check_quotas(const Event& e, const State& s);
  void check_power(const Event& e);
  void on_upgrade_act(const Event& e, const Order& o, const State& s);
  void check_budgets(const Event& e, const Order& o, const State& s);
  void on_health_act(const Event& e, const Order& o, const State& s);
  void check_out(const Event& e, NodeId node);
  void on_outcome(const OrderEnded& b);

  const Site& site_;
  decide::Layout layout_;
  // Starts of this turn with what was free before each: looked at when the turn is over, if nothing but starts was decided in it.
  struct Claim {
    Event event;
    JobId job;
    decide::Occupancy before;
    decide::Shape shape;
    decide::Choice choice;
  };
  std::vector<Claim> claims_;
  bool only_starts_ = true;
  Policy policy_;
  bool paused_ = false;
  std::map<NodeId, std::vector<Share>> held_;
  std::map<JobId, std::vector<NodeId>> gangs_;
  std::set<JobId> smaller_;  // run with fewer nodes than they asked for: free nodes may be kept for them
  std::map<FindingId, NodeId> named_;
  std::set<FindingId> cleared_;
  std::set<NodeId> failed_test_;  // since the node was last returned
  std::set<NodeId> passed_test_;  // since it was drained, and since its last repair
  std::map<std::string, Action> open_;
  std::set<std::string> keys_;
  std::set<NodeId> out_;
  std::deque<Time> harms_;
  std::map<JobId, std::deque<Time>> stops_;
  std::map<std::string, Time> counted_;  // open orders: when they were counted in those two
  std::vector<std::string> violations_;
  RuleCounts broken_{};
};

}  // namespace muster::trial
