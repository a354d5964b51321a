// Whom a fault of a network touches: hosts of the design.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "model/fabric.h"
#include "model/fabric_fault.h"

namespace muster::design {

class FabricHosts {
 public:
  explicit FabricHosts(const Fabric& design);
  // The hosts among its ends; where there is none, those that are cabled to the switches among its ends. In the order of their
  // names, each once. Nobody is cabled to a spine.
  std::vector<std::string> touched(const FabricFault& f) const;

 private:
  struct Device {
    bool is_host = false;  // or a card of one
    std::vector<std::string> hosts;
  };
  std::map<std::string, Device, std::less<>> devices_;  // by what ends call them: "leaf03", "gpu017 mlx5_3", "gpu017"
};

}  // namespace muster::design
