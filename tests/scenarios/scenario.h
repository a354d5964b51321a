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
  twin::Stroke stroke;
};

struct Command {
  Duration at;
  CommandGiven given;
};

// Something that an event can match. Exactly one of the first eight is given.
struct Match {
  std::string text;                    // as in the file, for messages
  std::optional<Verb> action;          // ordered
  std::optional<Verb> refused;         // held back by a limit
  std::optional<FindingKind> finding;  // opened
  bool incident_closed = false;
  std::string started;  // name of a job: an attempt of it started
  std::string frozen;   // a kind of finding: acts on it are frozen
  std::string thawed;   // likewise: they are free again
  std::optional<FindingKind> incident;  // opened
  std::uint32_t times = 0;              // how often it must match; 0: at least once
  NodeId node;          // none: any
  std::string because;  // part of the sentence, limit or resolution
  Time after;           // since the start of the scenario (as a Time from zero)
  Time until;
};

// What must hold over the whole run, and at its end. What is not given is not looked at.
struct Bounds {
  std::optional<std::uint32_t> drained_at_most;    // nodes out of service by Muster at one moment
  std::optional<std::uint32_t> incidents_at_most;  // opened
  std::optional<std::uint32_t> findings_at_least;  // opened
  std::optional<std::uint32_t> cpu_s_at_most;      // of this process, for the scenario
  std::optional<std::uint32_t> memory_mb_at_most;  // of this process, at its largest
  bool all_well = false;  // at the end: every node up and in service, no incident open, no job waits for nodes that are bad
};

struct Scenario {
  std::string file;
  std::string about;
  Site site;
  Policy policy;
  Workload workload;
  std::uint64_t seed = 1;
  std::uint32_t seeds = 1;  // played with so many, from that one on
  Duration run;
  std::vector<Injection> inject;
  std::vector<Command> commands;
  std::vector<Match> expect;
  std::vector<Match> never;
  Bounds bounds;
};

Result<Scenario> parse_scenario(const std::string& text, const std::string& file);

}  // namespace muster::scenarios
