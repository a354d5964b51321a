#include "model/fabric_fault.h"

#include <algorithm>

#include "base/text.h"
#include "model/fields.h"

namespace muster {

bool named_by_kind_alone(FabricFaultKind k) {
  return k == FabricFaultKind::incomplete_discovery || k == FabricFaultKind::routing_fallback;
}

bool costs_bandwidth(FabricFaultKind k) {
  switch (k) {
    case FabricFaultKind::missing_cable:
    case FabricFaultKind::swapped_cables:
    case FabricFaultKind::wrong_rail:
    case FabricFaultKind::degraded_link:
    case FabricFaultKind::dead_switch:
    case FabricFaultKind::error_rate: return true;
    default: return false;
  }
}

std::string name_of_fault(FabricFaultKind kind, std::vector<std::string> ends) {
  std::string out(name_of(kind));
  if (named_by_kind_alone(kind) || ends.empty()) return out;
  std::sort(ends.begin(), ends.end());
  out += " " + join(ends, " - ");
  return std::string(clipped(out, kFaultNameMax));
}

bool valid_fabric_name(std::string_view name) {
  return name.size() <= kFabricNameMax && std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
         });
}

std::string fault_subject(std::string_view fabric, std::string_view fault) {
  std::string out(fabric);
  if (!out.empty()) out += ": ";
  return out.append(fault);
}

// Neither a name nor a kind has a colon.
FaultSubject read_fault_subject(std::string_view subject) {
  FaultSubject out{{}, subject, {}};
  std::string_view first = subject.substr(0, subject.find(' '));
  if (first.size() > 1 && first.size() < subject.size() && first.ends_with(':')) {
    out.fabric = first.substr(0, first.size() - 1);
    out.fault = subject.substr(first.size() + 1);
    first = out.fault.substr(0, out.fault.find(' '));
  }
  if (FabricFaultKind kind{}; parse_name(first, kind)) out.kind = kind;
  return out;
}

}  // namespace muster
