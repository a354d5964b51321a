// The order in which parts of a node are upgraded: data/fleet/upgrade_order.csv.
#pragma once
#include <vector>

#include "model/upgrade_order.h"

namespace muster {

// As it ships, by rank.
const std::vector<UpgradeStep>& upgrade_order();

}  // namespace muster
