// What is to be known of a thing before it is ordered, besides its price.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace muster {

enum class BuyItem : std::uint8_t { server, gpu, switch_, cable, transceiver };
constexpr std::array<std::string_view, 5> names(BuyItem) { return {"server", "gpu", "switch", "cable", "transceiver"}; }

constexpr std::string_view kAssumed = "assumed";
constexpr std::string_view kGiven = "given";  // by a file that does not say from when it is

struct BuyTerms {
  double weeks_low = 0, weeks_high = 0;  // from order to delivery
  double price_low = 1, price_high = 1;  // over the price that is known
  double per_year = 0;                   // failures of one unit that call for a spare
  std::string source;
  // Where each of the three is from: kAssumed, the day or month of its source ("2024-04"), or kGiven.
  std::string weeks_from{kAssumed}, price_from{kAssumed}, per_year_from{kAssumed};
};

using ProcurementTerms = std::array<BuyTerms, 5>;  // by BuyItem

}  // namespace muster
