// A job that hangs, in words and as JSON.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "diagnose/hang.h"

namespace muster::report {

// `ranks`: that left a dump.
std::vector<std::string> say_hang(const std::optional<diagnose::Hang>& hang, std::size_t ranks);
std::string hang_json(const std::optional<diagnose::Hang>& hang, std::size_t ranks);

}  // namespace muster::report
