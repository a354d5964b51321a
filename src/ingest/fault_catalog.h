// The fault catalogue that ships with Muster (data/faults.csv): Xid, SXid, DCGM, InfiniBand, PCIe, mlx5 and host
// faults, each with what it means, what is advised, and who says so.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

struct Fault {
  std::string code;  // "Xid 79"
  std::string name;  // the driver's constant, or a pattern of the line
  std::string meaning;
  std::string severity;    // info, warning, error, fatal, unstated ...
  std::string action;      // advised
  std::string scope;       // app, gpu, node, fabric
  std::string applies_to;  // hardware; empty: all
  std::string seen_in;     // "kernel log NVRM"
  std::string source;      // where this comes from
};

std::span<const Fault> faults();
// By code as people write it: "Xid 79", "xid79", "XID:79", "79" (an Xid), "SXid 12028", or a driver's constant.
// nullptr: unknown.
const Fault* find_fault(std::string_view code);
// Codes spelled like `code`, for "did you mean".
std::vector<std::string> similar_faults(std::string_view code);

}  // namespace muster
