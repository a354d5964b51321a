// Recordings of acceptance in files and folders, and the limits that come from them.
#pragma once
#include <string>
#include <vector>

#include "accept/limits.h"
#include "accept_options.h"
#include "base/result.h"
#include "ingest/acceptance_file.h"

namespace muster::cmd {

struct Recordings {
  std::vector<Acceptance> all;
  std::vector<std::string> left_out;  // why each that could not be read could not
};
// "*.accept.jsonl" below folders, and files whatever they are called, in the order of their names. A file in a folder that is
// none is told on stderr and left out; one that was named is an error.
Result<Recordings> read_recordings(const std::vector<std::string>& places, WithReadings readings);
constexpr const char* kRecordingEnd = ".accept.jsonl";
Result<accept::Limits> known_limits(const KnownGpus& known);
std::vector<AcceptReference> shipped_references(bool wanted);
accept::Limits limits_of(const std::vector<Acceptance>& recordings, bool shipped);

}  // namespace muster::cmd
