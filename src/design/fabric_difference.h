// Two networks laid over each other, port by port. What differs falls apart into chains of ports, each linked to the next by a
// cable of the design or by one that was found, in turn; a chain that comes back to its beginning is a set of cables that changed
// places.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "design/fabric_compare.h"
#include "design/fabric_match.h"
#include "model/fabric_survey.h"

namespace muster::design {

// Devices have one number in both: those of the design first, then those that only were found.
class Overlay {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  Overlay(const Fabric& design, const Fabric& found, const FabricMatch& match);

  std::uint32_t devices() const { return static_cast<std::uint32_t>(begin_.size() - 1); }
  std::uint32_t begin(std::uint32_t device) const { return begin_[device]; }  // its ends: up to begin(device + 1)
  std::uint32_t ends() const { return begin_.back(); }
  std::uint32_t device(std::uint32_t end) const { return device_[end]; }
  std::uint32_t port(std::uint32_t end) const { return end - begin_[device_[end]]; }
  std::uint32_t want(std::uint32_t end) const { return want_[end]; }  // the other end of its cable; kNone: none
  std::uint32_t have(std::uint32_t end) const { return have_[end]; }
  bool is_switch(std::uint32_t device) const { return node(device).is_switch; }
  bool wanted(std::uint32_t device) const { return device < design_.nodes.size(); }
  bool there(std::uint32_t device) const { return !wanted(device) || match_.found_of[device] != kNone; }
  const FabricNode& node(std::uint32_t device) const;
  const FabricLink* want_link(std::uint32_t end) const;
  const FabricLink* have_link(std::uint32_t end) const;
  std::uint32_t of_found(std::uint32_t found_node) const { return of_found_[found_node]; }
  std::string say(std::uint32_t end) const;
  std::string say_device(std::uint32_t device) const;
  // How a device of the design is called where it was found, if otherwise.
  std::string_view called(std::uint32_t device) const;

 private:
  const Fabric& design_;
  const Fabric& found_;
  const FabricMatch& match_;
  std::vector<std::uint32_t> of_found_, extra_;  // device of a found node; found node of a device beyond the design's
  std::vector<std::uint32_t> begin_, device_, want_, have_;
  EndNames design_names_, found_names_;
};

struct Chain {
  bool cycle = false;
  bool wanted_first = false;        // whether the first two are linked by the design
  std::vector<std::uint32_t> ends;  // of a cycle: the last is linked to the first
};

// Every end that differs is in one.
std::vector<Chain> chains_of(const Overlay& overlay);

// Two devices, or hosts, that stand in each other's place: the chains that say so are all cables of both.
struct WholeExchange {
  std::array<std::string, 2> names;
  std::vector<std::size_t> chains;  // indices
  bool known_by_guid = false;       // one of them at least
};
std::vector<WholeExchange> whole_exchanges(const Overlay& overlay, const std::vector<Chain>& chains, const FabricMatch& match);

// Without the ports of switches for aggregation in the network, and how many these were.
FabricSurvey without_aggregation(const FabricSurvey& survey, std::uint32_t& left_out);

// Names that are not the design's, or that several bear; devices that are known by little.
std::vector<std::string> name_notes(const Fabric& design, const FabricSurvey& found, const FabricMatch& match);
std::vector<std::string> repeated_names(const FabricSurvey& found);

}  // namespace muster::design
