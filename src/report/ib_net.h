// A fabric as `ibnetdiscover` would print it: what ibsim boots from, and what a real one can be compared with.
#pragma once
#include <string>

#include "model/fabric.h"

namespace muster::report {

std::string render_ib_net(const Fabric& fabric);

}  // namespace muster::report
