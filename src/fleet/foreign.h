// Whether what most of a kind have is a measure for the firmware of a part: only of the same hardware. A kind may hold a node of
// another maker, or a card of another model, and an image for the others is none for it.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fleet/golden.h"
#include "fleet/repair.h"

namespace muster::fleet {

class SameHardware {
 public:
  SameHardware(const FactTable& table, const Golden& golden) : table_(table), golden_(golden) {}
  // Why a wish that only the majority speaks for is none; empty: it is no firmware, or enough of the same hardware have it.
  std::string why_not(const Wish& wish);

 private:
  using Hardware = std::map<std::string_view, std::string>;  // fact and value; what is not known is not in it
  Hardware of(std::uint32_t node, std::string_view entity, std::string_view key) const;
  using Has = std::map<std::pair<Hardware, std::string>, std::uint32_t>;  // parts of that hardware that have the value
  const Has& has(std::uint32_t cohort, const std::string& key);

  const FactTable& table_;
  const Golden& golden_;
  std::map<std::pair<std::uint32_t, std::string>, Has> has_;  // by kind and fact
};

}  // namespace muster::fleet
