// One rule's expressions against the columns of a table. Nodes with the same values are judged once.
#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "fleet/check.h"
#include "fleet/expression.h"

namespace muster::fleet {

// Expressions over one list of facts.
struct ReadRule {
  Expression applies, wants;
  std::vector<std::string> facts;         // of both; each once
  std::vector<std::uint32_t> of_applies;  // of each of its facts the place in `facts`
  std::vector<std::uint32_t> of_wants;
  std::vector<FactKind> kinds;  // of each of `facts`
  bool any_text = false;        // versions may be any text: they are only held against each other
  std::vector<bool> of_part;    // whether each of `facts` is of a part
  std::string part;             // kind of entity that it is about: "gpu", "nic"; empty: the node
  std::string by;               // of alike: the fact whose value makes things of a kind; empty: their place
};
Result<ReadRule> read_rule(const FleetRule& rule, const FactBook& book);

// Which nodes have which parts, by kind and name: somebody knows any fact of it, be it one that no rule asks for.
using Parts = std::map<std::string, std::map<std::string, std::vector<bool>>>;
Parts parts_of(const FactTable& table, const FactBook& book);

// The columns of its facts for one entity; null: no node has such a fact.
struct Bound {
  std::string entity;
  std::vector<const FactColumn*> columns;  // by place in ReadRule::facts
  const std::vector<bool>* has = nullptr;  // by node; null: of rules that are about no part
};
// One for each entity that any node has; one without columns where none has. `parts` must stay.
std::vector<Bound> bind(const FactTable& table, const Parts& parts, const ReadRule& rule);

// Which of `nodes` have the same codes in all columns: a number for each, and of each number the place of the first that has it.
struct Alike {
  std::vector<std::uint32_t> of_node;
  std::vector<std::uint32_t> example;
};
Alike alike_nodes(std::span<const FactColumn* const> columns, std::span<const std::uint32_t> nodes);

// Whether the node has the part. One of which nothing at all is known is not there, or nobody looked at it.
bool has_part(const ReadRule& rule, const Bound& bound, std::uint32_t node);
// Of a node without any such part: whether somebody counted, and there is none.
bool counted_none(const FactTable& table, const ReadRule& rule, std::uint32_t node);
std::vector<std::string> facts_of_part(const ReadRule& rule);

std::vector<Known> known_of(const ReadRule& rule, const Bound& bound, std::uint32_t node, const std::string& today);
// A fact may hold several versions or numbers with commas: those that processes have mapped, those of several mounts. All of them
// are in use. One row for each choice of one of each such fact; of too many to be looked at the fact is unknown.
std::vector<std::vector<Known>> in_use(const ReadRule& rule, const std::vector<Known>& known);
// What the rule's condition comes to where it is enough that one of several is meant.
Truth applies_to_any(const ReadRule& rule, const std::vector<Known>& known);
std::vector<Known> picked(const std::vector<Known>& known, const std::vector<std::uint32_t>& places);

// The word for it in a sentence: its value, "absent" or "unknown".
std::string spoken(const Known& known);
// {fact} replaced by its value.
std::string filled_in(std::string_view text, const ReadRule& rule, const std::vector<Known>& known);

}  // namespace muster::fleet
