// A repair that is held against the rules before anybody is told to make it: what would break one is left out, and said.
#pragma once
#include <span>

#include "fleet/check.h"
#include "fleet/repair.h"

namespace muster::fleet {

struct Judged {
  const FactTable& table;
  const FactBook& book;
  const RemedyBook& remedies;
  std::span<const FleetRule> rules;
  CheckOptions check;
};

// Left out is what breaks a rule with severity error that was not broken before, and a value that only the majority speaks for
// where such a rule, or the end of a life, speaks against it.
Repair plan_within_rules(RepairOf of, const Judged& judged);
// The same of what is declared for nodes that nobody has looked at yet: what no tool changes is taken as it is declared.
Repair plan_declared(const Site& site, const Declarations& declared, const FactBook& book, const RemedyBook& remedies,
                     std::span<const FleetRule> rules, std::string_view today);

}  // namespace muster::fleet
