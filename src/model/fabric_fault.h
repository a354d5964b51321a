// What is wrong with a network: a cable, a switch, a port or its routing that is not as it should be, and where to walk to.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

enum class FabricFaultKind : std::uint8_t {
  missing_cable,         // the design has it, and neither of its ports has another
  extra_cable,           // between ports that the design leaves empty, or only one end is where the design has it
  swapped_cables,        // two or more that changed places
  wrong_rail,            // a network card's cable that ends on a leaf of another rail
  degraded_link,         // fewer lanes or a lower speed than it should have
  dead_switch,           // it does not answer, and all of its cables are gone
  dead_host,             // no port of a node is there
  incomplete_discovery,  // what was read is a part: nothing can be said of the rest
  routing_fallback,      // the subnet manager routes by another engine than it was asked for
  error_rate,            // counters that grow faster than a sound link's
  duplicate_guid,        // two devices with one name
  flapping_link,         // it went down and came back, more than once of late: only a watch sees that
};
constexpr std::array<std::string_view, 12> names(FabricFaultKind) {
  return {"missing_cable", "extra_cable",          "swapped_cables",   "wrong_rail", "degraded_link",  "dead_switch",
          "dead_host",     "incomplete_discovery", "routing_fallback", "error_rate", "duplicate_guid", "flapping_link"};
}

struct FabricFault {
  FabricFaultKind kind{};
  std::vector<std::string> ends;  // "leaf03[17]": a port; "leaf03": a whole device. Untrusted where they were read
  std::string detail;             // what is seen, and against what
  double confidence = 1;          // 0 to 1
  std::string fix;                // what to do, and where
};

// Which devices it is told of changes with every reading: it is one fault, whichever they are.
bool named_by_kind_alone(FabricFaultKind k);
// In the evidence of a finding, between what was seen and what to do.
constexpr std::string_view kFixWords = "; do: ";
// It takes bandwidth, or a way, from whoever is behind it.
bool costs_bandwidth(FabricFaultKind k);
// What it is known by, whatever the order of its ends: "missing_cable leaf03[17] - spine02[4]", at most kFaultNameMax bytes.
constexpr std::size_t kFaultNameMax = 200;
std::string name_of_fault(FabricFaultKind kind, std::vector<std::string> ends);

// A site may have several networks, each with a watch of its own: "rail3". Letters, digits, dots, dashes and underscores; empty
// where there is but one.
constexpr std::size_t kFabricNameMax = 64;
bool valid_fabric_name(std::string_view name);
// In place of a fault, where the watch that told of the network is heard no more.
constexpr std::string_view kUnwatched = "unwatched";
// What a finding of it is about: "rail3: missing_cable leaf03[17] - spine02[4]"; of a network without a name, the fault alone.
std::string fault_subject(std::string_view fabric, std::string_view fault);
struct FaultSubject {
  std::string_view fabric, fault;
  std::optional<FabricFaultKind> kind;
};
FaultSubject read_fault_subject(std::string_view subject);

}  // namespace muster
