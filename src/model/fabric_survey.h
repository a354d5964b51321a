// A network as a tool found it: what it said, and the marks that it did not hear everything. Names are untrusted.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "model/fabric.h"

namespace muster {

enum class SurveyMark : std::uint8_t {
  nameless,      // the device said that it is there, but not what it is called
  no_lid,        // it has no address while others have one: it was not configured, or did not say
  no_rate,       // a port's state was not heard: "?????"
  unheard,       // a neighbour tells of it, it says nothing itself
  one_sided,     // only one end tells of this cable, though both devices were heard
  contradicted,  // the two ends tell differently
  base_port,     // a switch without the abilities that all others have: often an answer that was lost
};
constexpr std::array<std::string_view, 7> names(SurveyMark) {
  return {"nameless", "no_lid", "no_rate", "unheard", "one_sided", "contradicted", "base_port"};
}

struct SurveyOddity {
  SurveyMark mark{};
  std::uint32_t node = 0;
  std::uint16_t port = 0;  // 0: the whole device
};

struct FabricSurvey {
  Fabric fabric;  // a rate that is not told is the most frequent one
  std::vector<SurveyOddity> oddities;
  // Devices with one name of hardware: two nodes each.
  std::vector<std::array<std::uint32_t, 2>> duplicates;
  std::uint64_t root_guid = 0;  // of the device that asked; 0: not told
  bool cut_short = false;       // the text ends within a line
};

}  // namespace muster
