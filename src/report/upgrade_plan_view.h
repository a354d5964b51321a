// The plan of a rolling upgrade for people and for programs:
// docs/fleet/upgrade.md.
#pragma once
#include <string>

#include "fleet/upgrade_exposure.h"
#include "fleet/upgrade_plan.h"

namespace muster::report {

std::string upgrade_plan_json(const fleet::UpgradePlan& plan, const UpgradeSpec& spec, const fleet::Exposure& exposure);
std::string upgrade_plan_words(const fleet::UpgradePlan& plan, const UpgradeSpec& spec, const fleet::Exposure& exposure);
// As the command to begin an upgrade wants it: docs/api.md.
std::string upgrade_request_json(const UpgradeSpec& spec);

}  // namespace muster::report
