// Why: about a node, a job, an incident, an action, a finding, a fault code or a log line; in plain words, from the state alone.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/state.h"

namespace muster::report {

struct Explanation {
  std::string title;
  std::string kind;  // "node", "job", "queue", "incident", "action", "finding", "fault", "field", "cluster"
  std::vector<std::string> sentences;
  std::vector<std::string> evidence;
  std::string rule;
  std::vector<std::string> alternatives;  // what else was considered
  std::vector<std::string> actions;       // what was done, oldest first
};

// `what`: "node0017", "job 12", "12", "queue", "queue lab", "incident 3", "action KEY", "finding 4", "xid 79", a kernel log line.
Result<Explanation> explain(const State& s, std::string_view what);
// The same of a state that was read from a record, which has steps of jobs only as of their checkpoints, and says so.
Result<Explanation> explain_recorded(const State& s, std::string_view what);
// Without a cluster: fault codes, log lines and DCGM's field names only. `policy`: whose overrides count; nullptr: the catalogue
// alone.
Result<Explanation> explain_fault(std::string_view what, const Policy* policy = nullptr);
std::string render_json(const Explanation& e);

}  // namespace muster::report
