// A job that hangs, in words and as JSON.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/json_writer.h"
#include "diagnose/finding.h"
#include "diagnose/hang.h"

namespace muster::report {

// `ranks`: that left a dump.
std::string hang_sentence(const std::optional<diagnose::Hang>& hang, std::size_t ranks);
std::vector<std::string> say_hang(const diagnose::Hang& hang);
// An object, or null.
void write_hang(JsonWriter& w, const std::optional<diagnose::Hang>& hang);

diagnose::Finding hang_finding(const diagnose::Hang& hang, std::size_t ranks);

}  // namespace muster::report
