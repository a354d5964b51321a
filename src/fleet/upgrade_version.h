// Versions as they are asked for in an upgrade.
#pragma once
#include <string>
#include <string_view>

#include "model/upgrade_order.h"

namespace muster::fleet {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(std::string_view version);
bool is_driver_version(std::string_view version);
bool same_version(const UpgradeStep& step, std::string_view has, std::string_view wanted);
std::string cuda_of(std::string_view nccl);

}  // namespace muster::fleet
