// How much slower a job is than if nobody were slower than the rest, in words and as JSON.
#pragma once
#include <string>
#include <vector>

#include "base/json_writer.h"
#include "diagnose/finding.h"
#include "diagnose/stragglers.h"

namespace muster::report {

std::string stragglers_sentence(const diagnose::Stragglers& s);
std::vector<std::string> say_stragglers(const diagnose::Stragglers& s);
// An object.
void write_stragglers(JsonWriter& w, const diagnose::Stragglers& s);
diagnose::Finding straggler_finding(const diagnose::Stragglers& s);

}  // namespace muster::report
