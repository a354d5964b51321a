// What the judges of nccl-tests and of the Inspector share.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/nccl_bandwidth.h"

namespace muster::diagnose {

// "4 MiB".
std::string size_words(double bytes);

// "34.7 us", "900 ms", "1.2 s".
std::string time_words(double us);

// What to expect of each of the run's sizes, and what follows of the run. `device`: as the run calls its GPU; may be empty.
void expect_sizes(JudgedRun& run, std::optional<Collective> op, std::uint32_t per_node, std::string_view device,
                  const NcclYardstick& y);

}  // namespace muster::diagnose
