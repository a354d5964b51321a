// The words that tools of InfiniBand share: ends of cables, widths and speeds.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace muster {

// What stands between `open` and `close`, from the first `open` on; moves past it.
std::optional<std::string_view> take_between(std::string_view& text, char open, char close);

struct IbRate {
  std::uint8_t lanes = 0;
  double gb_s = 0;  // bytes of data, one way; 0: not told
};
// A line without what `ibnetdiscover -f` puts behind its rate: "s=4 w=2 v=4 e=4", numbers of speeds, widths and lanes.
std::string_view without_details(std::string_view line);
// "4xHDR" at the end of a line, or before such details.
IbRate rate_at_end(std::string_view line);

}  // namespace muster
