// What-if: a change of the policy, the spares or the nodes of a running cluster, tried on the twin from where its record ends,
// and held against the same time without the change.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/value.h"
#include "ingest/policy_change.h"
#include "trial/compare.h"

namespace muster::trial {

struct WhatIf {
  std::string policy_text;         // a policy file's, instead of the one in force; empty: that one
  std::string policy_called;       // the name of that file, or of a shipped policy; empty: not known
  std::vector<PolicySetting> set;  // and settings of it
  SiteChange site;
  std::optional<std::uint32_t> spares;  // nodes to keep free for repairs, in all
  double days = 7;
  std::uint32_t seeds = 8;
  std::optional<double> weather;  // none: as it is in that world
  std::string mix;                // of jobs: llm, research, mixed or shared; empty: as it is in that world
  std::optional<double> load;     // work offered over what the cluster can do; none: likewise
};

// {"policy": {"limits.out_cluster_pct": 10}, "policy_name": "cautious" (one that is shipped) or "policy_yaml": TEXT and
// "policy_file": the name of the file that it is of, "add_nodes": 8, "remove_nodes": 0, "remove": ["node[001-002]"],
// "spares": 2, "days": 7, "seeds": 8, "weather": 1, "mix": "llm", "load": 1.1}. All may be left out, but something must change.
Result<WhatIf> parse_what_if(const Value& input);
// The command line that asks the same; a policy's text of no known file is called FILE there.
std::string command_of(const WhatIf& ask);

// Where it is tried.
struct WhatIfWorld {
  twin::Config twin;  // its work and weather; site and seed do not count
  bool own = false;   // they are those of the cluster itself, which is simulated; false: assumed
  Time begun;         // utc, from when the times of listed jobs count
  std::function<Result<Policy>(const std::string& text)> read_policy;
  std::function<Result<void>(Policy& policy, const Site& site)> fit_policy;  // whether it suits the cluster
  std::function<std::unique_ptr<Journal>()> make_journal;
};

constexpr double kNodeDaysMax = 500'000;  // simulated in one what-if: about ten minutes of a core
// CPU-seconds for a node and day, roughly: for a warning beforehand.
constexpr double kCpuPerNodeDay_s = 1.3e-3;

struct Side {
  Policy policy;
  std::uint32_t nodes = 0, gpus = 0;
  std::uint32_t spares = 0;  // nodes that its policy keeps free
};
struct WhatIfPlan {
  Side base, changed;
  ChangedSite site;
  double price = 0;                      // of a GPU-hour; 0: not known
  double node_days = 0;                  // to be simulated
  std::uint32_t stopped = 0;             // jobs on nodes that go
  std::vector<std::string> changes;      // in words: "8 more nodes"
  std::vector<std::string> assumptions;  // sentences
  CompareOptions compare;                // all but `from` and the callbacks
};
Result<WhatIfPlan> plan_what_if(const WhatIf& ask, const State& now, const WhatIfWorld& world);

// The books as the twin goes on with them: what keeps the real controller from acting does not count there.
control::Books free_to_act(control::Books books);

// The least confidence with which the policy keeps so many nodes free, in all pods together.
Result<double> spare_confidence_for(const Site& site, std::uint32_t spares);
std::uint32_t spares_of(const Site& site, double confidence);

}  // namespace muster::trial
