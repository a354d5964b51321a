// The audit: who did what, and what came of it. Commands of people, approvals asked and answered, policies put in force, runs of
// the controller, nodes held at the engine by somebody else. From the record alone.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/event.h"

namespace muster::report {

// What is known of the chain of hashes that the story was read from.
struct Chain {
  std::string journal;       // its id
  std::uint64_t events = 0;  // each hash checked
  std::string digest;        // of the last one
  Time last;                 // utc of the last one, on the cluster's clock
  Time verified;             // utc of the reader's own clock: up to the last event, going on from what was read before
  Time whole;                // the same, of the last time that every event was read
};

// Listens to all events of a journal. It folds none of them, so that a long record is read fast.
class AuditStory {
 public:
  void take(const Event& e);
  // {"chain","simulation","items","older"}: the newest first.
  std::string json(const Chain& chain) const;

 private:
  struct Item {
    Time at;           // utc
    std::string kind;  // "command", "approval", "policy", "run" or "engine"
    std::string who;   // empty: nobody is on record
    std::string verb, on, reason;
    std::string said;                     // what came of it, as far as it needs no order
    std::string wish;                     // id of the command
    bool ordered = false;                 // it is carried out by orders
    std::set<std::string> open;           // keys of orders under way
    std::map<Status, unsigned> outcomes;  // of those that have ended
    std::string detail;                   // of the last of them
    std::string refusal;
  };
  struct Asked {
    std::uint64_t item = 0;  // its number
    IncidentId incident;
    Verb verb = Verb::probe_node;
    std::string act;
    std::string answer;  // in words; empty: none yet
  };

  Item& add(const Event& e, std::string kind, std::string who, std::string verb, std::string on, std::string reason);
  Item* find(std::uint64_t seq);
  void command(const Event& e, const CommandGiven& c);
  void answer(Item& item, const CommandGiven& c, std::uint64_t seq);
  void upgrade(Item& item, const CommandGiven& c, std::uint64_t seq);
  void ask(const Event& e, const ApprovalAsked& a);
  void close(IncidentId incident);
  void intend(const Order& o);
  void refuse(const OrderRefused& no);
  void end(const OrderEnded& end);
  void of_controller(const Event& e);
  std::string node_name(NodeId n) const;
  static std::string came_of(const Item& item);

  std::vector<std::string> nodes_;                                // names
  std::string simulation_;                                        // what the newest run said of itself; empty: a real cluster
  std::map<std::uint64_t, Item> items_;                           // by the number of their event; the newest kAuditKept
  std::uint64_t older_ = 0;                                       // that were let go
  std::map<std::string, std::uint64_t> wishes_;                   // id of a command -> its item
  std::map<std::string, std::uint64_t> orders_;                   // key of an order under way -> the item it is given for
  std::map<std::uint64_t, Asked> approvals_;                      // of open incidents, by their number
  std::map<std::pair<IncidentId, Verb>, std::uint64_t> granted_;  // -> the item that granted it
  std::uint64_t run_ = 0, policy_ = 0;                            // items of those in force
  std::uint64_t upgrade_ = 0;                                     // number of the last one, which is that of its command
  UpgradePhase phase_ = UpgradePhase::none;                       // and where it stands
  bool has_before_ = false;                                       // the version to go back to is known
};
constexpr std::size_t kAuditKept = 2'000;

}  // namespace muster::report
