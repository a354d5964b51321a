// What the controller holds against a job: findings on its nodes and about itself, whether they explain it, and where to take
// profiles if they do not. The same from a state and from the API's answers.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/json_writer.h"
#include "base/value.h"
#include "model/state.h"

namespace muster::report {

// A node that files of the job speak against: "rank 13 comes last to 812 of 900 exchanges".
struct JobLead {
  std::string host, why;
};

// Something known about a node of the job, or about the job itself.
struct JobTrouble {
  std::uint64_t finding = 0;
  std::uint64_t incident = 0;  // that handles it; 0: none, or not told
  std::string node;            // empty: the job
  int slot = -1;
  std::string kind, severity;
  std::string evidence;  // the first word of it; untrusted
  std::string remedy;
  std::string since_utc;
  bool explains = false;  // a slow or silent job by itself: no profile is needed to see why
};

struct JobSuspect {
  std::string node, why;
};

struct JobCase {
  std::string id, name, phase, note;
  std::vector<std::string> nodes;
  std::vector<JobTrouble> known;
  std::vector<JobSuspect> traces;  // where to take profiles: suspects, and one to compare with. None unless it runs

  bool runs() const { return phase == "running" && !nodes.empty(); }
  bool explained() const;
};

JobCase case_of(const State& s, const Job& j);
// From /api/v1/jobs/ID and /api/v1/findings, with those that are over.
JobCase case_of(const Value& job, const Value& findings);
// Chooses the nodes to look at: those that files speak against, then those with findings, then one that nothing is said of.
void choose_traces(JobCase& c, std::span<const JobLead> leads);

// dynolog's own client, which asks the profiler inside the job.
std::string trace_command(const JobCase& c, const std::string& node);
constexpr const char* kTraceNeeds = "dynolog on the nodes, and KINETO_USE_DAEMON=1 in the job's environment";

// As members of the object that `w` is in: job phase note explained known traces needs then.
void write_case(JsonWriter& w, const JobCase& c);
// {"apiVersion","kind":"JobDiagnosis", ...} of the same.
std::string case_json(const JobCase& c);

}  // namespace muster::report
