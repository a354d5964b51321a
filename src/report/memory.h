// A GPU's memory, in words and as JSON.
#pragma once
#include <string>
#include <vector>

#include "base/json_writer.h"
#include "diagnose/memory.h"

namespace muster::report {

// What is beside the findings.
std::vector<std::string> say_memory(const diagnose::MemoryDiagnosis& memory);
// One sentence on the gravest of it.
std::string memory_sentence(const diagnose::MemoryDiagnosis& memory);
// An object: settings, advice (of the first device that has one; null if none), devices.
void write_memory(JsonWriter& w, const diagnose::MemoryDiagnosis& memory);

}  // namespace muster::report
