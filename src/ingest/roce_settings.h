// How cards and switches of a lossless Ethernet say they are set up, and their counters: `mlnx_qos -i`, the files of
// /sys/class/net/*/ecn as `grep .` prints them, SONiC's configuration (JSON), `show roce` of Onyx, `nv show qos roce` of Cumulus;
// `ethtool -S`, `rdma statistic`, and the files of counters and hw_counters as `grep .` prints them.
#pragma once
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/roce.h"

namespace muster {

constexpr std::size_t kRoceCountersMax = 65536, kRoceCardsMax = 4096;  // of a file

bool looks_like_roce_settings(std::string_view text);
// Errors begin with `file`.
Result<RoceSettings> parse_roce_settings(std::string_view text, std::string_view file);

bool looks_like_roce_counters(std::string_view text);
// One for each card that is told of.
std::vector<RoceCounters> parse_roce_counters(std::string_view text, std::string_view file);

}  // namespace muster
