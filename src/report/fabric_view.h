// The network as the controller knows it: leaves by rails, which links are bad and since when, where both ends of a cable are,
// and what jobs may put on the way out of a leaf. Loads are predicted from where jobs sit: nobody counts bytes on the links.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/state.h"

namespace muster::report {

// From the best to the worst.
enum class LinkState : std::uint8_t {
  up,
  unknown,  // its node is down, boots or is silent
  told,     // only a log file that users may write to speaks of trouble
  flapped,  // went down and came back, lately
  errors,   // loses data or speed, or its errors multiply
  down,
};
constexpr std::array<std::string_view, 6> names(LinkState) { return {"up", "unknown", "told", "flapped", "errors", "down"}; }
constexpr std::size_t kLinkStates = names(LinkState{}).size();
// One letter a cell of the matrix.
constexpr char letter(LinkState s) { return "u?tfed"[static_cast<std::size_t>(s)]; }
// Something is said of the link itself, as opposed to its node.
constexpr bool is_bad(LinkState s) { return s > LinkState::unknown; }

using LinkCounts = std::array<std::uint32_t, kLinkStates>;

// A NIC's link to its leaf; or what is wrong with the NVLinks of a GPU.
struct LinkView {
  NodeId node;
  std::int16_t slot = -1;
  bool nvlink = false;
  LinkState state = LinkState::up;
  FindingId finding;    // that says so; none where nothing is wrong, or where the engine says that the node is down
  IncidentId incident;  // open one that handles it, or handles what explains it
  JobId job;            // the first that has the GPU now
  JobId hurt;           // of a bad one: who had the GPU when it broke; none: nobody had it, or it is not remembered
  Time since;           // utc; 0 while it is up
  Time bounced;         // utc: when its port was last ordered down and up again, as far as is remembered; 0: not
};

// What jobs that sit on several leaves may send up from this one. Neither figure was measured.
struct UplinkLoad {
  double capacity_gbps = 0;    // what its NICs could send, over the site's oversubscription
  double ring_gbps = 0;        // every such job runs one ring a rail, which leaves the leaf once
  double worst_case_gbps = 0;  // every GPU of theirs sends out of the leaf at once, as fast as its NIC can
  std::uint32_t jobs = 0;      // such jobs
  double worst_case_share() const { return capacity_gbps > 0 ? worst_case_gbps / capacity_gbps : 0; }
};

struct LeafView {
  std::uint32_t id = 0;
  std::string name;  // of its switch, where all its cables go to one; else "leaf 3"
  std::uint32_t pod = 0;
  std::uint32_t nodes = 0;
  LinkCounts links{};
  std::vector<LinkCounts> rails;      // by slot of the NIC
  std::vector<std::string> switches;  // by slot, of one that was asked for; empty: not known, or several
  UplinkLoad load;
  std::uint32_t asked_links = 0;  // of the job that was asked for
};

struct JobOnFabric {
  std::uint32_t links = 0;
  std::uint32_t bad_links = 0;
  std::uint32_t leaves = 0;
  std::uint32_t pods = 0;
  bool crosses_leaves = false;  // of an array: one of its members does
  bool crosses_pods = false;
  std::uint32_t bottleneck = 0;  // leaf whose uplinks are asked for most, at worst; where it crosses leaves
  std::string bottleneck_name;
  double bottleneck_share = 0;  // of what those uplinks carry, at worst
  std::string words;
};

struct FabricView {
  std::uint32_t rails = 0;
  std::uint32_t pods = 0;
  LinkCounts links{};                   // of all NICs
  std::vector<LeafView> leaves;         // of those asked for
  std::vector<LinkView> items;          // asked for nothing: the bad ones, worst first, then newest first; else all, by node
  std::vector<std::string> leaf_names;  // of all, by number
  std::size_t left_out = 0;             // more of them than kLinksMax, or kBadLinksMax
  std::optional<JobOnFabric> job;
};
constexpr std::size_t kBadLinksMax = 500;
constexpr std::size_t kLinksMax = 5'000;

struct FabricQuestion {
  std::string leaf;         // name, number, or a switch of it; empty: all
  std::vector<JobId> jobs;  // members of one array, or one job; empty: all
};

// not_found, with the nearest name, for a leaf that is not there.
Result<FabricView> fabric_view(const State& s, const FabricQuestion& question);

// What the loads are, in words.
constexpr std::string_view kLoadWords =
    "predicted from where jobs sit, not measured: ring_gbps if each job on several leaves runs one ring a rail, "
    "worst_case_gbps if every GPU of such jobs sends out of its leaf at once";

}  // namespace muster::report
