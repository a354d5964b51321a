// Which device of a design is which device that was found.
#pragma once
#include <cstdint>
#include <vector>

#include "model/fabric.h"

namespace muster::design {

struct FabricMatch {
  static constexpr std::uint32_t kNone = UINT32_MAX;

  enum class By : std::uint8_t { nothing, guid, name, place };

  std::vector<std::uint32_t> found_of;   // by node of the design; kNone: it is not there
  std::vector<std::uint32_t> design_of;  // by node that was found; kNone: the design has no such
  std::vector<By> by;                    // by node of the design: what it is known by
  std::uint32_t by_guid = 0, by_name = 0, by_place = 0;
  bool cards_reordered = false;  // names of cards stand for others than those of the same name or rank
};

// By guid first, then by name: the design was drawn before the hardware had guids, or a device was replaced. Cards go host by
// host: by their own names where a host's are the design's, otherwise each name stands for the card of the design whose places
// most hosts have it at, or for the one of the same rank. Hosts with other names are known as a whole, by the places of most
// of their cards, so that a crossing within or between them remains one. What is left is known by its place: whoever stands at
// the ports where another should. Where much is cabled otherwise than designed and one other order of the cards' names, the same
// for all hosts, leaves a tenth of that or less, it is names that differ and no cables.
FabricMatch match_fabrics(const Fabric& design, const Fabric& found);

// "node00012" of "node00012 mlx5_3": what the cards of one node share.
std::string_view host_of(std::string_view endpoint_name);
// 3 of "node00012 mlx5_3"; -1: its name says none.
int card_of(std::string_view endpoint_name);
// "mlx5_3" of "node00012 mlx5_3"; empty: its name is one word.
std::string_view card_name_of(std::string_view endpoint_name);
// A switch's own port for reductions in the network: "Mellanox Technologies Aggregation Node". No cable leads to it.
bool is_aggregation_node(const FabricNode& node);

}  // namespace muster::design
