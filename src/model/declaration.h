// Values of facts that hold by somebody's word: docs/formats/fleet_declared.md.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace muster {

struct Declaration {
  std::string entity;  // "gpu*": of every GPU; empty: of the node
  std::string key;
  std::string value;
  bool absent = false;             // it must not be there
  std::vector<std::string> nodes;  // names; empty: all that match `where`
  // Facts that a node must have for it to hold: "node.product", "DGXH100". All of them; none: every node.
  std::vector<std::pair<std::string, std::string>> where;
  std::string source;  // "golden.yaml:12"
};
using Declarations = std::vector<Declaration>;

}  // namespace muster
