// A fabric as `ibnetdiscover` would print it: what ibsim boots from, and what a real one can be compared with.
#pragma once
#include <cstdint>
#include <string>

#include "model/fabric.h"

namespace muster::report {

struct IbNetStyle {
  std::string heading;             // comes first, each line as a comment
  std::uint32_t switch_ports = 0;  // that a switch has; 0: up to its last that is used
  // ibsim 0.10, which Debian has, knows no speed beyond HDR and boots no file that names one.
  bool for_ibsim = false;
};
std::string render_ib_net(const Fabric& fabric, const IbNetStyle& style = {});
// "4xNDR": lanes and their speed, as ibnetdiscover calls a rate.
std::string say_ib_rate(double gb_s);

}  // namespace muster::report
