// What brings nodes to what they should be: the difference and nothing else, as changes that a tool can make, for which nodes, in
// which waves. What no tool can change, or must not, is listed for a person.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "fleet/golden.h"
#include "model/remedy.h"
#include "model/site.h"

namespace muster::fleet {

// Every text in it is safe to write into a file of any of the tools: nothing in it is a quote, a template or a line end.
struct Change {
  RemedyBy by = RemedyBy::hand;
  std::string name;   // parameter, argument, path, package, unit; "unit setting", "file key", "place option"
  std::string other;  // of a package, its name where rpm rules
  std::string value;  // empty with `absent`
  bool absent = false;
  RemedyTakes takes = RemedyTakes::live;
  std::string restarts;            // unit; empty: none
  bool at_boot = false;            // nothing is started or stopped before the reboot, which the change needs
  std::vector<std::string> facts;  // that it mends
  std::string has;                 // what one of the nodes has now, for people
  std::string why;                 // "golden.yaml:12", "98 % of its kind have it"
};

// Whether jobs on the node would feel it: a restart, a reboot, a reset.
bool disturbs(const Change& change);

// Nodes of one kind that get exactly the same changes.
struct ChangeSet {
  std::vector<Change> changes;
  std::vector<std::uint32_t> nodes;  // ascending
  std::uint32_t cohort = 0;
  bool rpm = false;  // dnf rather than apt
  RemedyTakes takes = RemedyTakes::live;
  bool drain = false;  // jobs would feel it: none may be on the node
};

struct Wave {
  std::string name;                  // "canary", "1 %", "the rest"
  std::vector<std::uint32_t> nodes;  // ascending
};

// For a person.
struct ByHand {
  std::string fact, wanted;
  std::string what;                   // what to do, or why nothing does it
  bool left_out = false;              // a tool could, and it would harm
  std::string key;                    // of the fact
  std::vector<std::string> entities;  // of which it is said, each with the same reason; empty: of the node
  std::vector<std::uint32_t> nodes;
};

struct Repair {
  std::vector<std::string> nodes;    // all names; indices below are into it
  std::vector<std::string> cohorts;  // names; untrusted
  std::vector<ChangeSet> sets;       // by the name of their first node
  std::vector<Wave> waves;           // none is empty
  std::vector<ByHand> by_hand;
  std::vector<std::string> notes;  // undecided facts, declarations that hold of nobody
  std::vector<std::size_t> made;   // which of the wishes come true by it
};

// A value that a node should have.
struct Wish {
  std::uint32_t node = 0, cohort = 0;
  std::string entity, key;
  std::string has, value;
  bool absent = false;
  std::string why;
  bool declared = false;  // rather than what most have
};

struct RepairOf {
  std::vector<std::string> nodes, cohorts;
  std::vector<Wish> wishes;                                           // of a node and a fact one at most
  std::vector<std::string> notes;                                     // kept
  std::vector<std::uint32_t> domain;                                  // NVLink domain of each node; empty: each is its own
  std::function<std::string(std::uint32_t, std::string_view)> known;  // value of a node's fact; empty: unknown
  // Why a wish is not followed: it would harm. By node and fact; with an empty fact, all that moves with the driver.
  std::map<std::pair<std::uint32_t, std::string>, std::string> refused;
};

Repair plan_repair(const RepairOf& of, const FactBook& book, const RemedyBook& remedies);
// Of what differs.
RepairOf differences_of(const FactTable& table, const Golden& golden, const Site* site);
// Of what is declared for the nodes of a cluster that nobody has looked at yet.
RepairOf declared_for(const Site& site, const Declarations& declared);

}  // namespace muster::fleet
