// A scenario: what happens to a small cluster, and what Muster must and must never do about it. README.md has the format.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/state.h"
#include "model/workload.h"
#include "twin/fault.h"

namespace muster::scenarios {

struct Injection {
  Duration at;
  twin::FaultKind fault = twin::FaultKind::gpu_off_bus;
  NodeId node;
  int slot = -1;
};

struct Command {
  Duration at;
  CommandGiven given;
};

// Something that an event can match. Exactly one of the first five is given.
struct Match {
  std::string text;                    // as in the file, for messages
  std::optional<Verb> action;          // ordered
  std::optional<Verb> refused;         // held back by a limit
  std::optional<FindingKind> finding;  // opened
  bool incident_closed = false;
  std::string started;  // name of a job: an attempt of it started
  std::string frozen;   // any text: acts on a cause are frozen
  NodeId node;          // none: any
  std::string because;  // part of the sentence, limit or resolution
  Time after;           // since the start of the scenario (as a Time from zero)
  Time until;
};

struct Scenario {
  std::string file;
  std::string about;
  Site site;
  Policy policy;
  Workload workload;
  std::uint64_t seed = 1;
  Duration run;
  std::vector<Injection> inject;
  std::vector<Command> commands;
  std::vector<Match> expect;
  std::vector<Match> never;
};

Result<Scenario> parse_scenario(const std::string& text, const std::string& file);

}  // namespace muster::scenarios
