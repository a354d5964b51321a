// Random bytes, the token file, and names of users: the parts of the system that authentication needs.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

namespace muster::cmd {

void random_bytes(std::span<std::uint8_t> out);
std::string random_hex(std::size_t bytes);
// Reads the token of a state directory, or makes one, mode 0600.
Result<std::string> open_token(const std::string& path);
std::string user_name(std::int64_t uid);

}  // namespace muster::cmd
