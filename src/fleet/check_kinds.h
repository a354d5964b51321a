// Rules that compare more than the values of one node: nodes of a kind, nodes of a job, the versions of one recipe.
#pragma once
#include <string>
#include <vector>

#include "fleet/check.h"
#include "fleet/rule_columns.h"

namespace muster::fleet {

std::vector<Verdict> judge_alike(const FactTable& table, const Parts& parts, const FleetRule& rule, const ReadRule& read,
                                 const CheckOptions& options);
std::vector<Verdict> judge_jobs(const FactTable& table, const Parts& parts, const FleetRule& rule, const ReadRule& read,
                                const CheckOptions& options);
std::vector<Verdict> judge_bundle(const FactTable& table, const Parts& parts, const FactBook& book, const FleetRule& rule,
                                  const ReadRule& read, const CheckOptions& options);

// The versions of a bundle, each as a rule by itself; of other rules none.
struct BundleItem {
  ReadRule read;
  bool exact = false;  // names one version: a node that has it was set up by this recipe
};
Result<std::vector<BundleItem>> bundle_items(const FleetRule& rule, const FactBook& book);

// "driver.loaded 580.159.04, fabricmanager.version absent": what the wanted side is about.
std::string found_text(const ReadRule& read, const std::vector<Known>& known);

}  // namespace muster::fleet
