// A training run against what it should be, in words and as JSON.
#pragma once
#include <string>
#include <vector>

#include "base/json_writer.h"
#include "diagnose/run_check.h"

namespace muster::report {

std::string run_sentence(const diagnose::RunCheck& check);
// What is beside the sentence and the findings.
std::vector<std::string> say_run_check(const diagnose::RunCheck& check);
// The object of the run alone, for a document that has others beside it.
void write_run(JsonWriter& w, const diagnose::RunCheck& check);

}  // namespace muster::report
